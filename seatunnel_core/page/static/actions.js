// Actions on a job. Errors of the cluster are shown unchanged.

import { html, useState } from "./html.js";
import { Said, Window } from "./parts.js";
import { tell } from "./rest.js";
import { go, to } from "./route.js";
import { plural } from "./words.js";

const DEEDS = {
  save: {
    title: "Take a savepoint",
    words: "The job takes a savepoint, which never expires, and continues.",
    path: "/savepoint",
    needs: ["savepoint"],
    done: (answer) => `The savepoint ${answer.name} is complete.`,
  },
  stop: {
    title: "Stop",
    words: "The job takes a final checkpoint and ends. A restore continues from there.",
    path: "/stop-job",
    needs: ["stop"],
  },
  savepoint: {
    title: "Stop with a savepoint",
    words: "The job takes a savepoint, which never expires, and ends. A restore continues from there.",
    path: "/stop-job",
    more: { isStopWithSavePoint: true },
    needs: ["stop", "savepoint"],
  },
  force: {
    title: "Stop at once",
    words: "The job ends without a final checkpoint. A restore reads again what was read since the previous one.",
    path: "/stop-job",
    more: { force: true },
    needs: ["stop"],
  },
};

const ENDS = ["FINISHED", "FAILED", "CANCELED", "SAVEPOINT_DONE"];

export function Actions({ job, again, may }) {
  const [asked, ask] = useState(null);
  return html`${buttonsOf(job, may, ask)}<${Asked} asked=${asked} ask=${ask} again=${again} />`;
}

function buttonsOf(job, may, ask) {
  if (job.jobStatus === "FINISHED") return null;
  if (!ENDS.includes(job.jobStatus)) return html`<div class="actions"><${Deeds} jobs=${[job]} may=${may} ask=${ask} /></div>`;
  if (!may("submit", "restore")) return null;
  return html`<div class="actions"><a class="button" href=${`${to("submit")}?restore=${encodeURIComponent(job.jobId)}`}>Restore…</a></div>`;
}

/** Actions on the selected jobs of a list. */
export function BulkActions({ jobs, again, may, clear }) {
  const [asked, ask] = useState(null);
  return html`${jobs.length > 0 && html`<div class="actions chosen" role="group" aria-label="With the chosen jobs"><b role="status">${plural(jobs.length, "job")} chosen</b>
    <${Deeds} jobs=${jobs} may=${may} ask=${ask} /><button type="button" class="plain" onClick=${clear}>Choose none</button></div>`}
    <${Asked} asked=${asked} ask=${ask} again=${again} />`;
}

/** True if the user's permissions allow an action, so that selecting jobs is useful. */
export const mayAct = (may) => Object.values(DEEDS).some((deed) => may(...deed.needs));

function Deeds({ jobs, may, ask }) {
  return html`${Object.entries(DEEDS).filter(([, deed]) => may(...deed.needs)).map(([name, deed]) => html`
      <button type="button" class=${name === "force" ? "danger" : ""} onClick=${() => ask({ deed, jobs })}>${deed.title}</button>`)}`;
}

/** The dialog of an action. It stays open when its jobs end and leave the list, because it shows what became of the action. */
const Asked = ({ asked, ask, again }) => asked && html`<${Confirm} ...${asked} onClose=${() => ask(null)} again=${again} />`;

const nameOf = (job) => job.jobName || job.jobId;

function Confirm({ jobs, deed, onClose, again }) {
  const [state, setState] = useState({});
  const many = jobs.length > 1;
  async function send() {
    const [done, refused] = [[], []];
    for (const job of jobs) { // one after the other: a savepoint is answered when it is complete
      setState({ busy: true, count: done.length + refused.length });
      try {
        done.push(await tell(deed.path, { jobId: job.jobId, ...deed.more }));
      } catch (error) {
        refused.push({ job, error });
      }
    }
    again();
    if (refused.length) setState({ refused, done: many ? `Accepted for ${done.length} of ${plural(jobs.length, "job")}.` : undefined });
    else if (deed.done || many) setState({ done: many ? `Accepted for ${plural(jobs.length, "job")}.` : deed.done(done[0]) });
    else onClose();
  }
  return html`<${Window} title=${`${deed.title}: ${many ? plural(jobs.length, "job") : nameOf(jobs[0])}`} onClose=${onClose}>
    <p role="status">${state.done ?? (many ? `For each of them: ${deed.words.charAt(0).toLowerCase()}${deed.words.slice(1)}` : deed.words)}</p>
    ${many && !state.done && html`<ul class="named">${jobs.map((job) => html`<li>${nameOf(job)} <small>${job.jobId}</small></li>`)}</ul>`}
    ${state.refused && html`<div role="alert">${state.refused.map(({ job, error }) => html`<p class="refused">${many && `${nameOf(job)}: `}<${Said} text=${error.message} /></p>`)}</div>`}
    <div class="actions">${state.done
      ? html`<button type="button" class="first" onClick=${onClose}>Close</button>`
      : html`<button type="button" class="first" disabled=${state.busy} onClick=${send}>${deed.title}</button>
        <button type="button" class="plain" onClick=${onClose}>Not now</button>`}
      ${state.busy && html`<span class="quiet" role="status">${many ? `${state.count} of ${jobs.length} done…` : "One moment…"}</span>`}</div>
  <//>`;
}

export const opened = (id) => go(to("job", id));
