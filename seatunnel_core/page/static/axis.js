// Axes of plots: distances between ticks, and labels of which no two are equal.

import { bytes, duration } from "./words.js";
import { clock, day, minute } from "./zone.js";

const decimal = (least, most) => {
  const found = [];
  for (let power = least; power <= most; power *= 10) found.push(power, 2 * power, 5 * power);
  return found;
};

const powers = () => Array.from({ length: 50 }, (_, index) => 2 ** index);

const TIMES_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000];

const NUMBER = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const LARGE = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 6 });

const number = (value) => (Math.abs(value) < 10_000 ? NUMBER : LARGE).format(value);

/** By kind of value: possible distances of two ticks, and how a tick is written. */
export const KINDS = {
  count: { steps: decimal(1, 1e15), write: number },
  rate: { steps: decimal(0.01, 1e15), write: number },
  bytes: { steps: powers(), write: exactBytes },
  duration: { steps: TIMES_MS, write: exactDuration },
};

/** Write a whole number of bytes in the largest unit in which it needs no more than three decimals. */
function exactBytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let [left, unit] = [value, 0];
  while (left >= 1_024 && unit < units.length - 1) [left, unit] = [left / 1_024, unit + 1];
  return `${new Intl.NumberFormat("en", { maximumFractionDigits: 3 }).format(left)} ${units[unit]}`;
}

function exactDuration(ms) {
  if (ms < 1_000) return `${NUMBER.format(ms)} ms`;
  if (ms < 60_000) return `${NUMBER.format(ms / 1_000)} s`;
  return duration(ms);
}

/** Write moments, in seconds, so that neighbours differ: with seconds, minutes or days, as far as they are apart. */
export function moments(ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  const write = step < 60 ? clock : step < 43_200 && ticks.at(-1) - ticks[0] < 86_400 ? minute : day;
  return ticks.map((tick) => write(tick * 1_000));
}

/** The value under the cursor. */
export const value = (kind, found) => ({ bytes, duration })[kind]?.(found) ?? number(found);
