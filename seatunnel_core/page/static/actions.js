// What one may do with a job. What the cluster refuses is said as it says it.

import { html, useState } from "./html.js";
import { Said, Window } from "./parts.js";
import { tell } from "./rest.js";
import { go, to } from "./route.js";

const STOPS = {
  stop: {
    title: "Stop",
    words: "It takes a last checkpoint and ends. A job that never ends by itself ends here.",
    body: {},
  },
  savepoint: {
    title: "Stop with a savepoint",
    words: "It takes a savepoint, which nobody prunes, and ends. Submit it again under its id to go on.",
    body: { isStopWithSavePoint: true },
  },
  force: {
    title: "Stop at once",
    words: "It ends without a last checkpoint. When it is restored, what was read since the one before is read again.",
    body: { force: true },
  },
};

export function Actions({ job, again }) {
  const [asked, setAsked] = useState(null);
  const ended = ["FINISHED", "FAILED", "CANCELED", "SAVEPOINT_DONE"].includes(job.jobStatus);
  if (ended) {
    return job.jobStatus === "FINISHED" ? null : html`<div class="actions">
      <a class="button" href=${`${to("submit")}?restore=${encodeURIComponent(job.jobId)}`}>Restore…</a></div>`;
  }
  const close = () => setAsked(null);
  return html`<div class="actions">${Object.entries(STOPS).map(([name, stop]) => html`
      <button type="button" class=${name === "force" ? "danger" : ""} onClick=${() => setAsked(name)}>${stop.title}</button>`)}</div>
    ${asked && html`<${Confirm} job=${job} stop=${STOPS[asked]} onClose=${close} again=${again} />`}`;
}

function Confirm({ job, stop, onClose, again }) {
  const [state, setState] = useState({});
  async function send() {
    setState({ busy: true });
    try {
      await tell("/stop-job", { jobId: job.jobId, ...stop.body });
      onClose();
      again();
    } catch (error) {
      setState({ error });
    }
  }
  return html`<${Window} title=${`${stop.title}: ${job.jobName || job.jobId}`} onClose=${onClose}>
    <p>${stop.words}</p>
    ${state.error && html`<p class="refused" role="alert"><${Said} text=${state.error.message} /></p>`}
    <div class="actions"><button type="button" class="first" disabled=${state.busy} onClick=${send}>${stop.title}</button>
      <button type="button" class="plain" onClick=${onClose}>Leave it running</button></div>
  <//>`;
}

export const opened = (id) => go(to("job", id));
