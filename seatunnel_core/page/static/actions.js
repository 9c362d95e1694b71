// What one may do with a job. What the cluster refuses is said as it says it.

import { html, useState } from "./html.js";
import { Said, Window } from "./parts.js";
import { tell } from "./rest.js";
import { go, to } from "./route.js";

const DEEDS = {
  save: {
    title: "Take a savepoint",
    words: "It takes a savepoint, which nobody prunes, and goes on.",
    path: "/savepoint",
    needs: ["savepoint"],
    done: (answer) => `The savepoint ${answer.name} is complete.`,
  },
  stop: {
    title: "Stop",
    words: "It takes a last checkpoint and ends. When it is restored, it goes on there.",
    path: "/stop-job",
    needs: ["stop"],
  },
  savepoint: {
    title: "Stop with a savepoint",
    words: "It takes a savepoint, which nobody prunes, and ends. When it is restored, it goes on there.",
    path: "/stop-job",
    more: { isStopWithSavePoint: true },
    needs: ["stop", "savepoint"],
  },
  force: {
    title: "Stop at once",
    words: "It ends without a last checkpoint. When it is restored, what was read since the one before is read again.",
    path: "/stop-job",
    more: { force: true },
    needs: ["stop"],
  },
};

const ENDS = ["FINISHED", "FAILED", "CANCELED", "SAVEPOINT_DONE"];

export function Actions({ job, again, may }) {
  const [asked, setAsked] = useState(null);
  if (job.jobStatus === "FINISHED") return null;
  if (ENDS.includes(job.jobStatus)) {
    if (!may("submit", "restore")) return null;
    return html`<div class="actions"><a class="button" href=${`${to("submit")}?restore=${encodeURIComponent(job.jobId)}`}>Restore…</a></div>`;
  }
  return html`<div class="actions">${Object.entries(DEEDS).filter(([, deed]) => may(...deed.needs)).map(([name, deed]) => html`
      <button type="button" class=${name === "force" ? "danger" : ""} onClick=${() => setAsked(name)}>${deed.title}</button>`)}</div>
    ${asked && html`<${Confirm} job=${job} deed=${DEEDS[asked]} onClose=${() => setAsked(null)} again=${again} />`}`;
}

function Confirm({ job, deed, onClose, again }) {
  const [state, setState] = useState({});
  async function send() {
    setState({ busy: true });
    try {
      const answer = await tell(deed.path, { jobId: job.jobId, ...deed.more });
      again();
      if (deed.done) setState({ done: deed.done(answer) });
      else onClose();
    } catch (error) {
      setState({ error });
    }
  }
  return html`<${Window} title=${`${deed.title}: ${job.jobName || job.jobId}`} onClose=${onClose}>
    <p role="status">${state.done ?? deed.words}</p>
    ${state.error && html`<p class="refused" role="alert"><${Said} text=${state.error.message} /></p>`}
    <div class="actions">${state.done
      ? html`<button type="button" class="first" onClick=${onClose}>Close</button>`
      : html`<button type="button" class="first" disabled=${state.busy} onClick=${send}>${deed.title}</button>
        <button type="button" class="plain" onClick=${onClose}>Not now</button>`}
      ${state.busy && html`<span class="quiet" role="status">One moment…</span>`}</div>
  <//>`;
}

export const opened = (id) => go(to("job", id));
