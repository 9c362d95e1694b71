// The only file that speaks HTTP: it asks the node that served the page, by its public REST and nothing else.

import { useCallback, useEffect, useRef, useState } from "./html.js";

const ROOT = new URL("../", import.meta.url);
const ANSWER_MS = 8_000;
const DONE_MS = 120_000; // a check may have to start Spark
const LATE = 504;
const MISSING_MS = 30_000;
const KEY = "seatunnel-key";

// The page of a single job is authorized by a key after the # of its address, which no server and no log receives.
function takeKey() {
  const given = /^#key=([\w-]+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem(KEY, given[1]);
    history.replaceState(null, "", "#/");
  }
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return null;
  }
}

const key = takeKey();

/** A failed request. `status` is 0 if the node does not answer, and 504 if it does not answer in time. */
export class Refusal extends Error {
  constructor(status, message, code = "") {
    super(message);
    this.status = status;
    this.code = code;
  }

  get isMissing() {
    return this.status === 404 || this.status === 405;
  }
}

/** Return the response of the node; throw a Refusal for a status other than `allowed` and 200 to 299. */
export async function fetched(path, { method = "GET", body, headers = {}, signal, allowed = [] } = {}) {
  const given = [AbortSignal.timeout(method === "GET" ? ANSWER_MS : DONE_MS), ...(signal ? [signal] : [])];
  let response;
  try {
    response = await fetch(new URL(path.replace(/^\//, ""), ROOT), {
      method,
      body,
      headers: { ...(key ? { Authorization: `Bearer ${key}` } : {}), ...headers },
      signal: AbortSignal.any(given),
      cache: "no-store",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw error.name === "TimeoutError" ? new Refusal(LATE, "there is no answer in time") : new Refusal(0, "the node does not answer");
  }
  if (response.ok || allowed.includes(response.status)) return response;
  throw await refusal(response);
}

async function refusal(response) {
  const text = await response.text().catch(() => "");
  try {
    const block = JSON.parse(text);
    return new Refusal(response.status, String(block.message ?? text), String(block.code ?? ""));
  } catch {
    return new Refusal(response.status, text.slice(0, 500) || `HTTP ${response.status}`);
  }
}

/** Return the JSON value of an answer. */
export async function ask(path, options) {
  const response = await fetched(path, options);
  try {
    return await response.json();
  } catch (error) {
    if (options?.signal?.aborted) throw error;
    throw new Refusal(0, "the answer ended in the middle");
  }
}

/** Send a JSON value, or a text of another kind, and return the JSON value of the answer. */
export function tell(path, value, kind = "application/json") {
  const body = kind === "application/json" ? JSON.stringify(value) : value;
  return ask(path, { method: "POST", body, headers: { "Content-Type": kind } });
}

/** What stands between the page and the cluster now: for each question that is asked again and again, its last refusal. */
const troubles = new Map();
const listeners = new Set();

function noted(path, error) {
  const before = troubles.get(path);
  if (before === error) return;
  if (error === null) troubles.delete(path);
  else troubles.set(path, error);
  listeners.forEach((listener) => listener());
}

/** Return the refusal that matters most, or null while all is well: silence first, then no entry, then no leader. */
export function useTrouble() {
  const [, draw] = useState(0);
  useEffect(() => {
    const listener = () => draw((number) => number + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  const all = [...troubles.values()];
  return [0, 401, 503, LATE].map((status) => all.find((each) => each.status === status)).find(Boolean) ?? null;
}

/**
 * Ask for a path again and again while the page is seen, and return `{value, error, at, again}`. A value stays while later
 * questions fail, with `error` beside it. A path of null asks nothing.
 */
export function usePolled(path, everyMs = 2_000) {
  const [found, setFound] = useState({ path });
  const turn = useRef(() => {});
  useEffect(() => {
    if (path === null) return undefined;
    const controller = new AbortController();
    let timer = 0;
    let running = false;
    async function once() {
      clearTimeout(timer);
      if (running) return;
      running = true;
      let pause = everyMs;
      try {
        const value = await ask(path, { signal: controller.signal });
        setFound({ path, value, error: null, at: Date.now() });
        noted(path, null);
      } catch (error) {
        if (controller.signal.aborted) return;
        if (error.isMissing) pause = MISSING_MS;
        setFound((before) => ({ ...(before.path === path ? before : { path }), error }));
        noted(path, error);
      } finally {
        running = false;
      }
      if (!document.hidden && everyMs) timer = setTimeout(once, pause);
    }
    const shown = () => document.hidden || once();
    document.addEventListener("visibilitychange", shown);
    turn.current = once;
    once();
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
      noted(path, null);
    };
  }, [path, everyMs]);
  const again = useCallback(() => turn.current(), []);
  return found.path === path ? { ...found, again } : { again };
}
