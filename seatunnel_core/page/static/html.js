// Markup in template strings. Preact makes text of every value that it is given: nothing that a server says becomes markup.

import htm from "./vendor/htm.js";
import { h, render } from "./vendor/preact.js";

export const html = htm.bind(h);
export { render };
export { useCallback, useEffect, useId, useMemo, useRef, useState } from "./vendor/hooks.js";
