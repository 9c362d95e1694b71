// The text of a job, and its resolved plan. The node masks secrets.

import { html } from "./html.js";
import { Instead, Said } from "./parts.js";
import { usePolled } from "./rest.js";

export function Plan({ job }) {
  const path = (what) => `/jobs/${what}/${encodeURIComponent(job.jobId)}`;
  const text = usePolled(path("text"), 0);
  const plan = usePolled(path("plan"), job.finishTime ? 0 : 10_000);
  return html`<section aria-labelledby="text"><h2 id="text">The job</h2>
      <p class="quiet">As submitted, in HOCON, without comments and with secrets masked.</p>
      ${text.value === undefined ? html`<${Instead} of=${text} what="text of the job" />`
        : text.value.text ? html`<pre class="text tall" tabindex="0">${text.value.text}</pre>`
          : html`<p class="quiet">No text: the job is too long for the history, or runs in the process that serves this page.</p>`}</section>
    <section aria-labelledby="plan"><h2 id="plan">Resolved plan</h2>
      ${plan.value === undefined ? html`<${Instead} of=${plan} what="plan of the job" />`
        : plan.value.plan ? html`<${Planned} plan=${plan.value.plan} />`
          : html`<p class="quiet">The plan is available while the job runs. Before and after, see the text and the graph.</p>`}</section>`;
}

function Planned({ plan }) {
  return html`<p class="quiet">${plan.mode} · checkpoint storage ${plan.storage}</p>
    ${plan.warnings.map((each) => html`<p class="hint"><${Said} text=${each} /></p>`)}
    ${plan.pipelines.map((pipeline) => html`<section class="card" aria-label=${`Plan of pipeline ${pipeline.id}`}>
      <header><h3><span class="ordinal">${pipeline.id}</span> ${pipeline.title}</h3><span class="pill">${pipeline.guarantee}</span></header>
      ${pipeline.because && html`<p class="quiet">${pipeline.because}</p>`}
      ${pipeline.vertices.map((vertex) => html`<${Vertex} vertex=${vertex} />`)}</section>`)}`;
}

function Vertex({ vertex }) {
  const facts = [
    vertex.inputs.length && `takes ${vertex.inputs.join(", ")}`,
    vertex.parallelism && `parallelism ${vertex.parallelism}`,
    vertex.guarantee,
  ].filter(Boolean).join(" · ");
  const [given, defaults] = [vertex.options.filter((each) => each.isSet), vertex.options.filter((each) => !each.isSet)];
  return html`<h4>${vertex.type} <b>${vertex.plugin}</b> ${vertex.name}</h4>${facts && html`<p class="quiet">${facts}</p>`}
    <${OptionList} options=${given} />
    ${defaults.length > 0 && html`<details><summary>${defaults.length} defaults</summary><${OptionList} options=${defaults} /></details>`}`;
}

export function OptionList({ options }) {
  if (!options.length) return null;
  return html`<dl class="options">${options.map((each) => html`<dt>${each.key}</dt><dd>${each.value}</dd>`)}</dl>`;
}
