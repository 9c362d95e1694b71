// Why a job is where it is: its attempts with node, time and cause, and the failures of its pipelines.

import { html } from "./html.js";
import { Help, Pill, Said, Table } from "./parts.js";
import { to } from "./route.js";
import { duration, NONE } from "./words.js";
import { when } from "./zone.js";

export function Attempts({ job }) {
  const attempts = [...(job.attemptHistory ?? [])].reverse();
  const failures = [...(job.failures ?? [])].reverse();
  return html`<section aria-labelledby="attempts"><h2 id="attempts">Attempts</h2>
      <p class="quiet">An attempt starts when a node receives the job, and ends with the job or the node's process. The last 20 are kept.</p>
      <${AttemptTable} job=${job} attempts=${attempts} /></section>
    <section aria-labelledby="failures"><h2 id="failures">Failures of pipelines</h2>
      <p class="quiet">A pipeline restarts from its last checkpoint, as often as <code>job.retry.times</code> allows. The last 20 failures in the current process are kept.</p>
      <${FailureTable} failures=${failures} /></section>`;
}

function AttemptTable({ job, attempts }) {
  const columns = [
    { title: "Attempt", cell: (each) => `no. ${each.attempt}` },
    { title: "Node", cell: (each) => html`<a href=${to("node", each.host)}>${each.host}</a>` },
    { title: "Started", number: true, cell: (each) => when(each.startTimestamp) },
    { title: "Ended", number: true, cell: (each) => (each.endTimestamp === null ? html`<${Pill} state=${job.jobStatus} />` : when(each.endTimestamp)) },
    { title: "Lasted", number: true, cell: (each) => lasted(each) },
    { title: "Why it ended", wide: true, cell: (each) => (each.cause ? html`<${Said} text=${each.cause} />` : "") },
  ];
  return html`<${Table} label="Attempts" columns=${columns} rows=${attempts} id=${(each) => `${each.attempt} ${each.host}`}
    empty="No attempts recorded." />`;
}

const lasted = ({ startTimestamp, endTimestamp }) =>
  (startTimestamp === null ? NONE : duration(Math.max(0, (endTimestamp ?? Date.now()) - startTimestamp)));

function FailureTable({ failures }) {
  const columns = [
    { title: "Time", cell: (each) => when(each.timestamp) },
    { title: "Pipeline", number: true, cell: (each) => each.pipelineId },
    { title: "Cause", wide: true, cell: (each) => html`<${Said} text=${each.message} />` },
    { title: "Help", cell: (each) => (each.code ? html`<${Help} name=${each.code} />` : "") },
  ];
  return html`<${Table} label="Failures" columns=${columns} rows=${failures} id=${(each) => `${each.timestamp} ${each.pipelineId}`} empty="No failures." />`;
}
