// The frame of the page: where one is, whether the node answers, and the view.

import { html, render, useEffect, useState } from "./html.js";
import { Job } from "./job.js";
import { Jobs } from "./jobs.js";
import { Node } from "./node.js";
import { Overview } from "./overview.js";
import { usePolled, useTrouble } from "./rest.js";
import { to, useRoute } from "./route.js";
import { Submit } from "./submit.js";
import { chooseZone, clock, zone, ZONES } from "./zone.js";

const PLACES = [["", "Overview"], ["jobs", "Jobs"], ["submit", "Submit"]];

const VIEWS = { "": Overview, jobs: Jobs, job: Job, node: Node, submit: Submit };

function Page() {
  const route = useRoute();
  const [, setZone] = useState(zone()); // times are written again
  const overview = usePolled("/overview", 3_000);
  const single = overview.value?.singleJob;
  const nodes = usePolled(overview.value && !single ? "/system-monitoring-information" : null, 5_000);
  const granted = usePolled(overview.value && !single ? "/permissions" : null, 0);
  const may = (...deeds) => Boolean(single)
    || (granted.value ? deeds.every((deed) => granted.value.permissions.includes(deed)) : Boolean(granted.error));
  const places = PLACES.filter(([name]) => name !== "submit" || may("submit"));
  const place = route.parts[0] ?? "";
  const View = VIEWS[place] ?? NoView;
  useEffect(() => {
    if (single && place !== "job") location.replace(to("job", single));
  }, [single, place]);
  useEffect(() => {
    document.title = ["SeaTunnel", ...route.parts].join(" · ");
  }, [route]);
  return html`
    <a class="skip" href="#main" onClick=${(event) => skip(event)}>To the content</a>
    <header class="top">
      <a class="mark" href="#/"><img src="page/icon.svg" alt="" width="24" height="24" />SeaTunnel</a>
      <nav aria-label="Views">${(single ? [] : places).map(([name, title]) => html`
        <a href=${`#/${name}`} aria-current=${place === name || (name === "jobs" && place === "job") ? "page" : null}>${title}</a>`)}</nav>
      <div class="own">
        ${granted.value?.user && html`<span class="who" title=${`Permissions: ${granted.value.permissions.join(", ") || "nothing"}`}><span class="unseen">User </span>${granted.value.user}</span>`}
        <${Zone} change=${setZone} />
        <${Theme} />
      </div>
    </header>
    <${Trouble} overview=${overview} nodes=${nodes.value} />
    <main id="main" tabindex="-1"><${View} key=${place + (route.parts[1] ?? "")} route=${route} overview=${overview} nodes=${nodes} may=${may} /></main>`;
}

function skip(event) {
  event.preventDefault(); // the address keeps the view
  document.getElementById("main").focus();
}

function NoView() {
  return html`<h1>Page not found</h1><p><a href="#/">To the overview</a></p>`;
}

/** Says so when the node is silent, has no leader, or does not let one in; what is shown below stays as it last was. */
function Trouble({ overview, nodes }) {
  const trouble = useTrouble();
  if (!trouble) return html`<div role="status" class="trouble"></div>`;
  const since = overview.at ? ` What you see is of ${clock(overview.at)}.` : "";
  const single = overview.value?.singleJob;
  const others = pagesOf(nodes);
  return html`<div role="status" class="trouble shown">
    ${trouble.status === 0 && single && html`<p><b>The command that runs the job does not answer.</b>${since} If the job has ended, its final table is in the terminal.</p>`}
    ${trouble.status === 0 && !single && html`<p><b>${location.host} does not answer.</b>${since} The page tries again, and goes on when it answers.
      ${others.length > 0 && html` Other nodes: ${others.map((each) => html`<a href=${each.href}>${each.host}</a> `)}`}</p>`}
    ${trouble.status === 401 && html`<p><b>Access denied.</b> User or password are wrong: reload the page, and enter them again.</p>`}
    ${trouble.status === 504 && html`<p><b>The response takes too long.</b>${since} The node or the leader hangs or is overloaded; the page retries.</p>`}
    ${trouble.status === 503 && html`<p><b>The cluster has no leader at this moment.</b>${since} Jobs continue when another node has taken over; the page retries.</p>`}
  </div>`;
}

/** The pages of the other nodes, which serve theirs by the same port as this one, unless they are on its machine. */
function pagesOf(nodes) {
  const hosts = new Set((Array.isArray(nodes) ? nodes : []).map((each) => String(each.host)));
  return [...hosts].filter((host) => host && host !== location.hostname).map((host) => {
    const page = new URL(location.href);
    page.hostname = host;
    return page;
  });
}

function Zone({ change }) {
  const choose = (event) => {
    chooseZone(event.target.value);
    change(event.target.value);
  };
  if (ZONES.length === 1) return html`<span class="quiet" title="Time zone of all times">${zone()}</span>`;
  return html`<label class="theme"><span class="unseen">Time zone</span><select value=${zone()} onChange=${choose}>
    ${ZONES.map((each) => html`<option value=${each} selected=${each === zone()}>${each}</option>`)}
  </select></label>`;
}

function Theme() {
  const [name, setName] = useState(window.theme.chosen());
  const change = (event) => {
    window.theme.choose(event.target.value);
    setName(event.target.value);
  };
  return html`<label class="theme"><span class="unseen">Colours</span><select value=${name} onChange=${change}>
    ${window.theme.names.map((each) => html`<option value=${each} selected=${each === name}>${each}</option>`)}
  </select></label>`;
}

render(html`<${Page} />`, document.getElementById("page"));
