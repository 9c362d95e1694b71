// How numbers, sizes and times are written.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 3, notation: "compact" });
const RATE = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export const NONE = "–";

const known = (value) => value !== undefined && value !== null && value !== "" && Number.isFinite(Number(value));

/** Return a number, or null for what is none. */
export const number = (value) => (known(value) ? Number(value) : null);

export const count = (value) => (known(value) ? WHOLE.format(Number(value)) : NONE);

export const short = (value) => (known(value) ? (Math.abs(value) < 10_000 ? WHOLE : SHORT).format(Number(value)) : NONE);

export const perSecond = (value) => (known(value) ? `${(value < 1_000 ? RATE : SHORT).format(Number(value))}/s` : NONE);

export function bytes(value) {
  if (!known(value)) return NONE;
  let size = Number(value);
  let unit = 0;
  while (size >= 1_024 && unit < UNITS.length - 1) [size, unit] = [size / 1_024, unit + 1];
  return `${unit === 0 || size >= 100 ? WHOLE.format(size) : size.toFixed(1)} ${UNITS[unit]}`;
}

/** Read a size as SeaTunnel writes it: bytes, or a number with K, M or G behind it. */
export function size(text) {
  const found = /^([\d.]+)\s*([KMGT]?)i?B?$/i.exec(String(text ?? "").trim());
  return found ? Number(found[1]) * 1_024 ** " KMGT".indexOf(found[2].toUpperCase() || " ") : null;
}

export function duration(ms) {
  if (!known(ms) || ms < 0) return NONE;
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Return how long a job took, of milliseconds since 1970; the texts of earlier versions have no zone. */
export const between = (from, to) => {
  if (!known(from) || !known(to)) return NONE;
  return to > from ? duration(to - from) : "under 1 s";
};

export const percent = (share) => (known(share) ? `${Math.round(100 * share)} %` : NONE);

export const plural = (number, word) => `${count(number)} ${word}${Number(number) === 1 ? "" : "s"}`;
