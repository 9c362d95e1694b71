// The time zone in which the page writes times: the browser's, or UTC.

const LOCAL = new Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

export const ZONES = LOCAL === "UTC" ? ["UTC"] : [LOCAL, "UTC"];

let chosen = read();
let formats = made();

function read() {
  try {
    const stored = localStorage.getItem("zone");
    return ZONES.includes(stored) ? stored : ZONES[0];
  } catch { // storage may be switched off
    return ZONES[0];
  }
}

function made() {
  const format = (options) => new Intl.DateTimeFormat("sv-SE", { timeZone: chosen, ...options }); // writes 2026-01-31 10:00:07
  return {
    moment: format({ dateStyle: "short", timeStyle: "medium" }),
    clock: format({ timeStyle: "medium" }),
    minute: format({ timeStyle: "short" }),
    day: format({ month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" }),
  };
}

export const zone = () => chosen;

export function chooseZone(name) {
  chosen = name;
  formats = made();
  try {
    localStorage.setItem("zone", name);
  } catch { /* it holds for this page only */ }
  window.dispatchEvent(new Event("theme")); // plots are drawn again
}

export const clock = (ms) => formats.clock.format(ms);

export const minute = (ms) => formats.minute.format(ms);

export const day = (ms) => formats.day.format(ms);

export const when = (ms) => (Number.isFinite(ms) && ms !== null ? formats.moment.format(ms) : "–");
