// Where one is: the part of the address behind #, so that a reload, a bookmark and the way back work.

import { useEffect, useState } from "./html.js";

const read = () => {
  const [path, query] = (location.hash.replace(/^#\/?/, "") || "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query ?? "") };
};

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const to = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;

export const go = (address) => {
  location.hash = address;
};

export function useRoute() {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const changed = () => setRoute(read());
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}
