// Jobs that have not ended, those that wait and why, and those that have ended, page by page.

import { BulkActions, mayAct } from "./actions.js";
import { html, useState } from "./html.js";
import { Instead, Pill, Said, Table } from "./parts.js";
import { ask, usePolled } from "./rest.js";
import { go, to } from "./route.js";
import { between, count, duration, number, perSecond, plural, short } from "./words.js";
import { when } from "./zone.js";

const TABS = [["current", "Current"], ["pending", "Pending"], ["finished", "Ended"]];
const ENDS = [["", "all"], ["FINISHED", "finished"], ["FAILED", "failed"], ["CANCELED", "canceled"], ["SAVEPOINT_DONE", "savepoint done"]];
const ROWS = 20;

export function Jobs({ route, may }) {
  const tab = route.parts[1] ?? "current";
  const list = listOf(route);
  return html`<div class="headed"><h1>Jobs</h1><${Find} list=${list} tab=${tab} /></div>
    <nav class="tabs" aria-label="Jobs by state">${TABS.map(([name, title]) => html`
      <a href=${to("jobs", name)} aria-current=${name === tab ? "page" : null}>${title}</a>`)}</nav>
    ${list.search && html`<p class="quiet">Jobs with a name or ID that contains “${list.search}”. <a href=${list.address({ search: "", page: 1 })}>Show all</a></p>`}
    ${tab === "current" && html`<${Current} list=${list} may=${may} />`}
    ${tab === "pending" && html`<${Pending} list=${list} may=${may} />`}
    ${tab === "finished" && html`<${Ended} state=${route.parts[2] ?? ""} list=${list} />`}`;
}

/** What of a list is shown, as the address says it, and the address of another part of it. */
function listOf(route) {
  const shown = {
    page: Math.max(1, Math.floor(Number(route.query.get("page")) || 1)),
    search: route.query.get("search") ?? "",
    sort: route.query.get("sort") ?? "",
    order: route.query.get("order") ?? "asc",
  };
  const address = (more, parts = route.parts) => {
    const next = { ...shown, ...more };
    const query = new URLSearchParams();
    if (next.page > 1) query.set("page", next.page);
    if (next.search) query.set("search", next.search);
    if (next.sort) [query.set("sort", next.sort), query.set("order", next.order)];
    return `${to(...parts)}${query.size ? `?${query}` : ""}`;
  };
  const query = new URLSearchParams({ page: shown.page, rows: ROWS });
  if (shown.search) query.set("search", shown.search);
  if (shown.sort) [query.set("sort", shown.sort), query.set("order", shown.order)];
  const sort = { key: shown.sort, order: shown.order, choose: (key, order) => go(address({ sort: key, order, page: 1 })) };
  return { ...shown, address, query: String(query), sorting: sort };
}

/** Lead to the job of an id, else to the jobs that have the text in their names or ids. */
function Find({ list, tab }) {
  const [text, setText] = useState(list.search);
  async function find(event) {
    event.preventDefault();
    const word = text.trim();
    const job = word && await ask(`/job-info/${encodeURIComponent(word)}`).catch(() => null);
    if (job?.jobStatus) go(to("job", word));
    else go(list.address({ search: word, page: 1 }, ["jobs", tab]));
  }
  return html`<form class="find" role="search" onSubmit=${find}>
    <input aria-label="Job ID, or part of a name" placeholder="Name or id" maxlength="200" value=${text} onInput=${(event) => setText(event.target.value)} />
    <button>Find</button></form>`;
}

export const nameOf = (job) => html`<a href=${to("job", job.jobId)}>${job.jobName || job.jobId}</a><small>${job.jobId}</small>`;

/** Return the jobs of a list that are chosen, and how the choice changes; jobs that are listed no more are not chosen. */
function useChosen(jobs) {
  const [ids, change] = useState(new Set());
  const chosen = jobs.filter((job) => ids.has(job.jobId));
  return { jobs: chosen, table: { ids: new Set(chosen.map((job) => job.jobId)), change }, clear: () => change(new Set()) };
}

function Current({ list, may }) {
  const running = usePolled(`/running-jobs/summary?${list.query}`, 3_000);
  const { jobs, total } = shown(running.value, list.page);
  const chosen = useChosen(jobs);
  if (running.value === undefined) return html`<${Instead} of=${running} what="current jobs" />`;
  return html`<${BulkActions} jobs=${chosen.jobs} again=${running.again} may=${may} clear=${chosen.clear} />
    <${CurrentTable} jobs=${jobs} sort=${list.sorting} chosen=${mayAct(may) ? chosen.table : undefined} search=${list.search} />
    <${Pages} list=${list} total=${total} />`;
}

/** Return the rows of a page: of an answer in pages, or of a list of all. */
function shown(value, page) {
  if (!Array.isArray(value)) return { jobs: value?.data ?? [], total: Number(value?.total ?? 0) };
  return { jobs: value.slice((page - 1) * ROWS, page * ROWS), total: value.length };
}

const metrics = (job) => job.metrics ?? {};

export function CurrentTable({ jobs, sort, chosen, search }) {
  const columns = [
    { title: "Job", key: "jobName", cell: nameOf },
    { title: "State", key: "jobStatus", cell: (job) => html`<${Pill} state=${job.jobStatus} />` },
    { title: "Attempts", number: true, cell: (job) => (Number(job.attempts) > 1 ? count(job.attempts) : "") },
    { title: "Rows read", key: "rowsRead", number: true, cell: (job) => short(metrics(job).SourceReceivedCount) },
    { title: "Rate", number: true, cell: (job) => perSecond(metrics(job).SourceReceivedQPS) },
    { title: "Rows committed", key: "rowsCommitted", number: true, cell: (job) => short(metrics(job).SinkCommittedCount) },
    { title: "Submitted", key: "createTime", number: true, cell: (job) => when(number(job.createTimestamp)) },
  ].map((each) => (sort ? each : { ...each, key: undefined }));
  return html`<${Table} label="Current jobs" columns=${columns} rows=${jobs} id=${(job) => job.jobId} sort=${sort} chosen=${chosen}
    empty=${search ? "No matching jobs running or waiting." : "No jobs running or waiting."} />`;
}

function Pending({ list, may }) {
  const pending = usePolled("/pending-jobs?limit=200", 3_000);
  const running = usePolled(pending.error?.isMissing ? "/running-jobs" : null, 3_000);
  const waiting = pending.error?.isMissing ? running : pending;
  const word = list.search.toLowerCase();
  const jobs = (pending.value?.pendingJobs ?? waitingOf(running.value)).filter((job) => `${job.jobName}\n${job.jobId}`.toLowerCase().includes(word));
  const chosen = useChosen(jobs);
  if (waiting.value === undefined) return html`<${Instead} of=${waiting} what="pending jobs" />`;
  const reason = (job) => job.failureMessage || job.pendingReason || job.failureReason || "its turn";
  const columns = [
    { title: "Job", by: (job) => job.jobName || job.jobId, cell: nameOf },
    { title: "State", by: (job) => job.jobStatus, cell: (job) => html`<${Pill} state=${job.jobStatus ?? "PENDING"} />` },
    { title: "Waits for", wide: true, by: reason, cell: (job) => html`<${Said} text=${reason(job)} />` },
    { title: "Waits since", by: (job) => number(job.waitDurationMs), number: true, cell: (job) => duration(job.waitDurationMs) },
  ];
  const queue = pending.value?.queueSummary;
  return html`${queue && html`<p class="quiet">${plural(queue.size ?? jobs.length, "job")} in the queue${queue.scheduleStrategy ? ` · strategy ${queue.scheduleStrategy}` : ""}</p>`}
    <${BulkActions} jobs=${chosen.jobs} again=${waiting.again} may=${may} clear=${chosen.clear} />
    <${Table} label="Pending jobs" columns=${columns} rows=${jobs} id=${(job) => job.jobId} empty=${word ? "No matching jobs waiting." : "No jobs waiting."}
      chosen=${mayAct(may) ? chosen.table : undefined} />`;
}

const waitingOf = (value) =>
  (Array.isArray(value) ? value : (value?.data ?? [])).filter((job) => job.pendingReason || ["PENDING", "SCHEDULED"].includes(job.jobStatus));

/** The jobs that have ended, the last one first. */
function Ended({ state, list }) {
  const path = `/finished-jobs${state ? `/${encodeURIComponent(state)}` : ""}?newestFirst=true&${list.query}`;
  const ended = usePolled(path, 5_000);
  const filter = html`<nav class="filter" aria-label="Ended jobs by result">${ENDS.map(([name, title]) => html`
    <a href=${list.address({ page: 1 }, ["jobs", "finished", ...(name ? [name] : [])])} aria-current=${name === state ? "page" : null}>${title}</a>`)}</nav>`;
  if (ended.value === undefined) return html`${filter}<${Instead} of=${ended} what="ended jobs" />`;
  const inOrder = Array.isArray(ended.value) ? [...ended.value].reverse() : ended.value; // a list has the last one last
  const { jobs, total } = shown(inOrder, list.page);
  return html`${filter}<${EndedTable} jobs=${jobs} list=${list} /><${Pages} list=${list} total=${total} />`;
}

function EndedTable({ jobs, list }) {
  const error = (job) => String(job.errorMsg ?? "").split("\n")[0];
  const columns = [
    { title: "Job", key: "jobName", cell: nameOf },
    { title: "End", key: "jobStatus", cell: (job) => html`<${Pill} state=${job.jobStatus} />` },
    { title: "Rows committed", key: "rowsCommitted", number: true, cell: (job) => short(job.metrics?.SinkCommittedCount) },
    { title: "Took", key: "duration", number: true, cell: (job) => between(job.createTimestamp, job.finishTimestamp) },
    { title: "Ended", key: "finishTime", number: true, cell: (job) => when(number(job.finishTimestamp)) },
    { title: "Error", cell: (job) => (error(job) ? html`<span class="clipped">${error(job)}</span>` : "") },
  ];
  return html`<${Table} label="Ended jobs" columns=${columns} rows=${jobs} id=${(job) => job.jobId} sort=${list.sorting}
    empty=${list.search ? "No matching ended jobs." : "No job has ended so."} />`;
}

function Pages({ list, total }) {
  const pages = Math.max(1, Math.ceil(total / ROWS));
  const { page } = list;
  if (pages === 1 && page === 1) return null;
  const link = (number, words, enabled) =>
    enabled ? html`<a href=${list.address({ page: number })}>${words}</a>` : html`<span aria-disabled="true">${words}</span>`;
  return html`<nav class="pages" aria-label="Pages">
    ${link(1, "First", page > 1)} ${link(page - 1, "Before", page > 1)}
    <span>Page ${count(page)} of ${count(pages)} · ${plural(total, "job")}</span>
    ${link(page + 1, "Next", page < pages)} ${link(pages, "Last", page < pages)}</nav>`;
}
