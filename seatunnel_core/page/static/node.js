// One node: its processes and JVMs, its configuration with secrets masked, its threads and its logs.

import { html, useState } from "./html.js";
import { Followed, keyOf } from "./log.js";
import { Instead, Table, Tile } from "./parts.js";
import { OptionList } from "./plan.js";
import { usePolled } from "./rest.js";
import { to } from "./route.js";
import { bytes, count, duration, NONE } from "./words.js";

const TABS = [["", "Processes"], ["configuration", "Configuration"], ["threads", "Threads"], ["log", "Logs"]];

export function Node({ route }) {
  const address = route.parts[1] ?? "";
  const tab = route.parts[2] ?? "";
  const found = usePolled(`/nodes/${encodeURIComponent(address)}`, 5_000);
  const node = found.value;
  return html`<h1>Node ${address} ${node?.leads && html`<span class="pill good">leader</span>`}</h1>
    ${node && html`<p class="quiet">${[node.role.replaceAll("_", " "), `cluster ${node.cluster}`, `version ${node.version}`, `logs are written in ${node.timeZone}`].join(" · ")}</p>`}
    <nav class="tabs" aria-label="Parts of the node">${TABS.map(([name, title]) => html`
      <a href=${to("node", address, ...(name ? [name] : []))} aria-current=${name === tab ? "page" : null}>${title}</a>`)}</nav>
    ${tab === "threads" && html`<${Threads} address=${address} />`}
    ${tab === "log" && html`<${Logs} address=${address} />`}
    ${["", "configuration"].includes(tab) && !node && html`<${Instead} of=${found} what="details of this node" />`}
    ${tab === "" && node && html`<${Processes} node=${node} />`}
    ${tab === "configuration" && node && html`<${Configuration} node=${node} />`}`;
}

/** Return a function from the name of a metric, and labels, to its value. */
function metricsOf(node) {
  return (name, labels = {}) => node.metrics.find(([given, of]) =>
    given === name && Object.entries(labels).every(([key, text]) => of[key] === text))?.[2];
}

const PROCESSES = { agent: "agent", host: "worker process", java: "JVM" };

function Processes({ node }) {
  const metric = metricsOf(node);
  const processes = node.metrics.filter(([name]) => name === "process_resident_memory_bytes").map(([, labels]) => labels);
  const hosts = [...new Set(node.metrics.filter(([name]) => name.startsWith("jvm_")).map(([, labels]) => labels.host))];
  const columns = [
    { title: "Process", cell: (each) => `${PROCESSES[each.process] ?? each.process}${each.host && each.host !== "shared" ? ` of ${each.host}` : ""}` },
    { title: "Memory", number: true, cell: (each) => bytes(metric("process_resident_memory_bytes", each)) },
    { title: "CPU time", number: true, cell: (each) => seconds(metric("process_cpu_seconds_total", each)) },
    { title: "Open files", number: true, cell: (each) => files(metric, each) },
  ];
  return html`<section><h2>Processes</h2><${Table} label="Processes" columns=${columns} rows=${processes} id=${(each) => `${each.process} ${each.host}`} empty="The node reports no processes." /></section>
    ${hosts.map((host) => html`<${Jvm} host=${host} node=${node} />`)}
    ${!hosts.length && html`<p class="quiet">No JVM runs here, or it has not answered yet.</p>`}`;
}

const seconds = (value) => (value === undefined ? NONE : duration(value * 1_000));

function files(metric, labels) {
  const [open, most] = [metric("process_open_fds", labels), metric("process_max_fds", labels)];
  return open === undefined ? NONE : `${count(open)}${most === undefined ? "" : ` of ${count(most)}`}`;
}

function Jvm({ host, node }) {
  const metric = metricsOf(node);
  const info = node.metrics.find(([name, labels]) => name === "jvm_info" && labels.host === host)?.[1] ?? {};
  const of = (name, labels = {}) => metric(name, { host, ...labels });
  const collectors = node.metrics.filter(([name, labels]) => name === "jvm_gc_collection_seconds_sum" && labels.host === host);
  const most = of("jvm_memory_bytes_max", { area: "heap" });
  return html`<section aria-label=${`JVM of ${host}`}><h2>JVM of ${host === "shared" ? "all jobs" : host}</h2>
    <p class="quiet">${[info.runtime, info.vendor, info.version].filter(Boolean).join(" · ")}</p>
    <div class="tiles">
      <${Tile} title="Heap" value=${bytes(of("jvm_memory_bytes_used", { area: "heap" }))} note=${most > 0 ? `of ${bytes(most)}` : ""} />
      <${Tile} title="Outside the heap" value=${bytes(of("jvm_memory_bytes_used", { area: "nonheap" }))} />
      <${Tile} title="Threads" value=${count(of("jvm_threads_current"))} />
      <${Tile} title="Classes" value=${count(of("jvm_classes_currently_loaded"))} />
      ${collectors.map(([, labels, took]) => html`<${Tile} title=${labels.gc} value=${seconds(took)}
        note=${`${count(of("jvm_gc_collection_seconds_count", { gc: labels.gc }))} times`} />`)}
    </div></section>`;
}

function Configuration({ node }) {
  const given = node.configuration.filter((each) => each.isSet);
  const defaults = node.configuration.filter((each) => !each.isSet);
  const asOptions = (block) => Object.entries(block).filter(([, value]) => value).map(([key, value]) => ({ key, value }));
  return html`<section><h2>Set in seatunnel.yaml</h2><${OptionList} options=${given} />${!given.length && html`<p class="quiet">No options set: all defaults.</p>`}</section>
    <section><h2>Checkpoint storage</h2><${OptionList} options=${asOptions(node.storage)} /></section>
    <section><h2>Files</h2><${OptionList} options=${asOptions(node.files)} /></section>
    ${Object.keys(node.tags).length > 0 && html`<section><h2>Tags</h2><${OptionList} options=${asOptions(node.tags)} /></section>`}
    <section><h2>Defaults</h2><details><summary>${defaults.length} options</summary><${OptionList} options=${defaults} /></details></section>`;
}

function Threads({ address }) {
  const found = usePolled(`/thread-dump?node=${encodeURIComponent(address)}`, 0);
  const [search, setSearch] = useState("");
  if (found.value === undefined) return html`<${Instead} of=${found} what="threads of this node" />`;
  const word = search.toLowerCase();
  const shown = found.value.filter((each) => `${each.threadName}\n${each.stackTrace}`.toLowerCase().includes(word));
  return html`<div class="headed"><label class="choice">Search <input value=${search} onInput=${(event) => setSearch(event.target.value)} /></label>
      <button type="button" onClick=${found.again}>Take again</button></div>
    <p class="quiet" role="status">${count(shown.length)} of ${count(found.value.length)} threads of Python; those of the JVM are counted under Processes.</p>
    ${shown.map((each) => html`<details class="thread"><summary><b>${each.threadName}</b> <small>${each.process} · ${each.threadState.toLowerCase()}</small></summary>
      <pre class="text" tabindex="0">${each.stackTrace}</pre></details>`)}`;
}

function Logs({ address }) {
  const found = usePolled("/logs?format=json", 10_000);
  const [chosen, setChosen] = useState("");
  if (found.value === undefined) return html`<${Instead} of=${found} what="logs of this node" />`;
  const files = found.value.filter((each) => each.node === address)
    .sort((one, other) => Number(one.logName.startsWith("job-")) - Number(other.logName.startsWith("job-")) || one.logName.localeCompare(other.logName));
  if (!files.length) return html`<p class="quiet">This node has no log files, or has not answered.</p>`;
  const file = files.find((each) => each.logName === chosen) ?? files[0];
  return html`<label class="choice">Log <select value=${file.logName} onChange=${(event) => setChosen(event.target.value)}>
      ${files.map((each) => html`<option value=${each.logName} selected=${each.logName === file.logName}>${each.logName}</option>`)}</select></label>
    <${Followed} key=${keyOf(file)} file=${file} ended=${false} />`;
}
