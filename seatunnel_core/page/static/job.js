// One job: how it stands, its pipelines, its checkpoints, its log, and what one may do with it.

import { Actions } from "./actions.js";
import { Attempts } from "./attempts.js";
import { Checkpoints, completedSince } from "./checkpoints.js";
import { html, useEffect, useRef } from "./html.js";
import { Log } from "./log.js";
import { Metrics } from "./metrics.js";
import { Help, Instead, Pill, Said, Tile } from "./parts.js";
import { Pipelines } from "./pipelines.js";
import { Plan } from "./plan.js";
import { usePolled } from "./rest.js";
import { to } from "./route.js";
import { between, bytes, number, NONE, perSecond, plural, short } from "./words.js";
import { when } from "./zone.js";

const TABS = [["", "Pipelines"], ["metrics", "Metrics"], ["attempts", "Attempts"], ["checkpoints", "Checkpoints"], ["log", "Log"],
  ["plan", "Text and plan"], ["options", "Options"]];

export function Job({ route, may }) {
  const id = route.parts[1] ?? "";
  const tab = route.parts[2] ?? "";
  const found = usePolled(`/job-info/${encodeURIComponent(id)}`, 2_000);
  const job = found.value;
  const seen = useRef([]); // checkpoints that completed while the page was open: how long they took is not stored
  useEffect(() => {
    if (!job) return;
    seen.current = completedSince(seen.current, job.pipelines ?? [], found.at);
  }, [found.at]);
  if (job === undefined) return html`<h1>Job ${id}</h1><${Instead} of=${found} what="this job" />`;
  if (!job.jobStatus) {
    return html`<h1>Job ${id}</h1><p>The cluster has no job with this ID: it never existed, or its history has expired.</p>
      <p><a href=${to("jobs")}>To all jobs</a></p>`;
  }
  return html`<${Head} job=${job} again=${found.again} may=${may} />
    ${job.errorMsg && html`<section class="error" aria-label="Error"><h2>Why it failed</h2><pre class="text" tabindex="0"><${Said} text=${job.errorMsg} /></pre>
      ${codesOf(job).map((code) => html`<p>More: <${Help} name=${code} /></p>`)}</section>`}
    ${job.pendingReason && html`<section class="hint"><b>Waits:</b> <${Said} text=${job.pendingReason} /></section>`}
    <${Figures} job=${job} />
    <nav class="tabs" aria-label="Parts of the job">${TABS.map(([name, title]) => html`
      <a href=${to("job", id, ...(name ? [name] : []))} aria-current=${name === tab ? "page" : null}>${title}</a>`)}</nav>
    ${tab === "" && html`<${Pipelines} job=${job} />`}
    ${tab === "metrics" && html`<${Metrics} job=${job} />`}
    ${tab === "attempts" && html`<${Attempts} job=${job} />`}
    ${tab === "plan" && html`<${Plan} job=${job} />`}
    ${tab === "checkpoints" && html`<${Checkpoints} id=${id} seen=${seen.current} />`}
    ${tab === "log" && html`<${Log} id=${id} ended=${Boolean(job.finishTime)} />`}
    ${tab === "options" && html`<${Options} job=${job} />`}`;
}

/** Return the codes of what went wrong in its pipelines, whose help the message does not name itself. */
const codesOf = (job) => [...new Set((job.pipelines ?? []).map((each) => each.code))]
  .filter((code) => code && !job.errorMsg.includes(`seatunnel help ${code}`));

function Head({ job, again, may }) {
  const facts = [
    job.createTime && `submitted ${when(number(job.createTimestamp))}`,
    job.finishTime && `ended ${when(number(job.finishTimestamp))}, took ${between(job.createTimestamp, job.finishTimestamp)}`,
    job.host && html`on <a href=${to("node", job.host)}>${job.host}</a>`,
    Number(job.attempts) > 1 && plural(job.attempts, "attempt"),
    job.isStartWithSavePoint && "restored",
  ].filter(Boolean);
  return html`<div class="headed"><div><h1>${job.jobName || job.jobId} <${Pill} state=${job.jobStatus} /></h1>
    <p class="quiet"><code>${job.jobId}</code> · ${facts.map((each, index) => html`${index ? " · " : ""}${each}`)}</p></div>
    <${Actions} job=${job} again=${again} may=${may} /></div>`;
}

function Figures({ job }) {
  const metrics = job.metrics ?? {};
  const rate = (name) => (job.finishTime || number(metrics[name]) === null ? "" : perSecond(metrics[name]));
  return html`<div class="tiles">
    <${Tile} title="Rows read" value=${short(metrics.SourceReceivedCount)} note=${rate("SourceReceivedQPS")} />
    <${Tile} title="Bytes read" value=${bytes(metrics.SourceReceivedBytes)} />
    <${Tile} title="Rows written" value=${short(metrics.SinkWriteCount)} note=${rate("SinkWriteQPS")} />
    <${Tile} title="Rows committed" value=${short(metrics.SinkCommittedCount)} />
    <${Tile} title="Not yet committed" value=${behind(metrics)} />
  </div>`;
}

function behind(metrics) {
  const [written, committed] = [number(metrics.SinkWriteCount), number(metrics.SinkCommittedCount)];
  return written === null || committed === null ? NONE : short(Math.max(0, written - committed));
}

function Options({ job }) {
  const options = Object.entries(job.envOptions ?? {});
  if (!options.length) return html`<p class="quiet">The job sets no options in env.</p>`;
  return html`<dl class="options">${options.map(([key, value]) => html`<dt>${key}</dt><dd>${String(value)}</dd>`)}</dl>`;
}
