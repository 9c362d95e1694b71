// Jobs that have not ended, those that wait and why, and those that have ended, page by page.

import { html, useState } from "./html.js";
import { Instead, Pill, Said, Table } from "./parts.js";
import { usePolled } from "./rest.js";
import { go, to } from "./route.js";
import { between, count, duration, NONE, perSecond, plural, short } from "./words.js";

const TABS = [["current", "Current"], ["pending", "Pending"], ["finished", "Ended"]];
const ENDS = [["", "all"], ["FINISHED", "finished"], ["FAILED", "failed"], ["CANCELED", "canceled"], ["SAVEPOINT_DONE", "savepoint done"]];
const ROWS = 20;

export function Jobs({ route }) {
  const tab = route.parts[1] ?? "current";
  return html`<div class="headed"><h1>Jobs</h1><${Find} /></div>
    <nav class="tabs" aria-label="Jobs by state">${TABS.map(([name, title]) => html`
      <a href=${to("jobs", name)} aria-current=${name === tab ? "page" : null}>${title}</a>`)}</nav>
    ${tab === "current" && html`<${Current} page=${pageOf(route)} />`}
    ${tab === "pending" && html`<${Pending} />`}
    ${tab === "finished" && html`<${Ended} state=${route.parts[2] ?? ""} page=${pageOf(route)} />`}`;
}

const pageOf = (route) => Math.max(1, Math.floor(Number(route.query.get("page")) || 1));

function Find() {
  const [id, setId] = useState("");
  const find = (event) => {
    event.preventDefault();
    if (id.trim()) go(to("job", id.trim()));
  };
  return html`<form class="find" role="search" onSubmit=${find}>
    <input aria-label="A job's id" placeholder="A job's id" value=${id} onInput=${(event) => setId(event.target.value)} />
    <button>Find</button></form>`;
}

export const nameOf = (job) => html`<a href=${to("job", job.jobId)}>${job.jobName || job.jobId}</a><small>${job.jobId}</small>`;

function Current({ page }) {
  const running = usePolled(`/running-jobs?page=${page}&rows=${ROWS}`, 3_000);
  if (running.value === undefined) return html`<${Instead} of=${running} what="current jobs" />`;
  const { jobs, total } = shown(running.value, page);
  return html`<${CurrentTable} jobs=${jobs} /><${Pages} page=${page} total=${total} address=${to("jobs", "current")} />`;
}

/** Return the rows of a page: of an answer in pages, or of a list of all. */
function shown(value, page) {
  if (!Array.isArray(value)) return { jobs: value.data ?? [], total: Number(value.total ?? 0) };
  return { jobs: value.slice((page - 1) * ROWS, page * ROWS), total: value.length };
}

export function CurrentTable({ jobs }) {
  const metrics = (job) => job.metrics ?? {};
  const columns = [
    { title: "Job", cell: nameOf },
    { title: "State", cell: (job) => html`<${Pill} state=${job.jobStatus} />` },
    { title: "Rows read", number: true, cell: (job) => short(metrics(job).SourceReceivedCount) },
    { title: "Rate", number: true, cell: (job) => perSecond(metrics(job).SourceReceivedQPS) },
    { title: "Rows committed", number: true, cell: (job) => short(metrics(job).SinkCommittedCount) },
    { title: "Submitted", number: true, cell: (job) => job.createTime ?? NONE },
  ];
  return html`<${Table} label="Current jobs" columns=${columns} rows=${jobs} id=${(job) => job.jobId} empty="No job runs or waits." />`;
}

function Pending() {
  const pending = usePolled("/pending-jobs?limit=200", 3_000);
  const running = usePolled(pending.error?.isMissing ? "/running-jobs" : null, 3_000);
  const waiting = pending.error?.isMissing ? running : pending;
  if (waiting.value === undefined) return html`<${Instead} of=${waiting} what="pending jobs" />`;
  const jobs = pending.value?.pendingJobs ?? waitingOf(running.value);
  const columns = [
    { title: "Job", cell: nameOf },
    { title: "State", cell: (job) => html`<${Pill} state=${job.jobStatus ?? "PENDING"} />` },
    { title: "Waits for", cell: (job) => html`<${Said} text=${job.failureMessage || job.pendingReason || job.failureReason || "its turn"} />` },
    { title: "Waits since", number: true, cell: (job) => (job.waitDurationMs === undefined ? (job.createTime ?? NONE) : duration(job.waitDurationMs)) },
  ];
  const queue = pending.value?.queueSummary;
  return html`${queue && html`<p class="quiet">${plural(queue.size ?? jobs.length, "job")} in the queue${queue.scheduleStrategy ? ` · strategy ${queue.scheduleStrategy}` : ""}</p>`}
    <${Table} label="Pending jobs" columns=${columns} rows=${jobs} id=${(job) => job.jobId} empty="No job waits." />`;
}

const waitingOf = (value) =>
  (Array.isArray(value) ? value : (value?.data ?? [])).filter((job) => job.pendingReason || ["PENDING", "SCHEDULED"].includes(job.jobStatus));

/** The jobs that have ended, the last one first. */
function Ended({ state, page }) {
  const path = `/finished-jobs${state ? `/${encodeURIComponent(state)}` : ""}?newestFirst=true&page=${page}&rows=${ROWS}`;
  const ended = usePolled(path, 5_000);
  const filter = html`<nav class="filter" aria-label="Ended jobs by their end">${ENDS.map(([name, title]) => html`
    <a href=${to("jobs", "finished", ...(name ? [name] : []))} aria-current=${name === state ? "page" : null}>${title}</a>`)}</nav>`;
  if (ended.value === undefined) return html`${filter}<${Instead} of=${ended} what="ended jobs" />`;
  const inOrder = Array.isArray(ended.value) ? [...ended.value].reverse() : ended.value; // a list has the last one last
  const { jobs, total } = shown(inOrder, page);
  return html`${filter}<${EndedTable} jobs=${jobs} />
    <${Pages} page=${page} total=${total} address=${to("jobs", "finished", ...(state ? [state] : []))} />`;
}

function EndedTable({ jobs }) {
  const columns = [
    { title: "Job", cell: nameOf },
    { title: "End", cell: (job) => html`<${Pill} state=${job.jobStatus} />` },
    { title: "Rows committed", number: true, cell: (job) => short(job.metrics?.SinkCommittedCount) },
    { title: "Took", number: true, cell: (job) => between(job.createTime, job.finishTime) },
    { title: "Ended", number: true, cell: (job) => job.finishTime ?? NONE },
    { title: "Error", cell: (job) => html`<span class="clipped">${String(job.errorMsg ?? "").split("\n")[0]}</span>` },
  ];
  return html`<${Table} label="Ended jobs" columns=${columns} rows=${jobs} id=${(job) => job.jobId} empty="No job has ended so." />`;
}

function Pages({ page, total, address }) {
  const pages = Math.max(1, Math.ceil(total / ROWS));
  if (pages === 1 && page === 1) return null;
  const link = (number, words, enabled) =>
    enabled ? html`<a href=${`${address}?page=${number}`}>${words}</a>` : html`<span aria-disabled="true">${words}</span>`;
  return html`<nav class="pages" aria-label="Pages">
    ${link(1, "First", page > 1)} ${link(page - 1, "Before", page > 1)}
    <span>Page ${count(page)} of ${count(pages)} · ${plural(total, "job")}</span>
    ${link(page + 1, "Next", page < pages)} ${link(pages, "Last", page < pages)}</nav>`;
}
