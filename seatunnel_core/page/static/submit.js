// A job is written or chosen here, checked, and submitted.

import { html, useState } from "./html.js";
import { Said } from "./parts.js";
import { tell } from "./rest.js";
import { opened } from "./actions.js";
import { plural } from "./words.js";

const FORMATS = { hocon: "HOCON", json: "JSON", yaml: "YAML", sql: "SQL" };
const ENDINGS = { conf: "hocon", config: "hocon", hocon: "hocon", json: "json", yaml: "yaml", yml: "yaml", sql: "sql" };

const EXAMPLE = `env {
  job.name = "first"
  job.mode = "BATCH"
}
source {
  FakeSource {
    plugin_output = "numbers"
    row.num = 1000
    schema { fields { id = bigint, name = string } }
  }
}
sink {
  Console { plugin_input = "numbers" }
}
`;

export function Submit({ route, may }) {
  const restored = route.query.get("restore") ?? "";
  const [job, setJob] = useState({ text: restored ? "" : EXAMPLE, format: "hocon", name: "", id: restored, restores: Boolean(restored) });
  const [result, setResult] = useState({});
  const change = (more) => setJob((before) => ({ ...before, ...more }));

  async function chosen(event) {
    const file = event.target.files[0];
    if (file) change({ file: file.name, text: await file.text(), format: ENDINGS[file.name.split(".").at(-1).toLowerCase()] ?? job.format });
  }

  async function send(event, what) {
    event.preventDefault();
    setResult({ busy: what });
    try {
      const answer = await tell(pathOf(what, job), job.text, job.format === "json" ? "application/json; charset=utf-8" : "text/plain; charset=utf-8");
      if (what !== "submit-job") setResult({ checked: answer });
      else if (answer.warnings?.length) setResult({ submitted: answer });
      else opened(answer.jobId);
    } catch (error) {
      setResult({ error });
    }
  }

  return html`<h1>${restored ? "Restore a job" : "Submit a job"}</h1>
    <p class="quiet">${restored
      ? "Choose the job's file, unchanged or with changes that a restore allows. The job resumes from its latest checkpoint."
      : "Paths in the job are paths on the nodes. Keep secrets in environment variables of the nodes, as ${NAME}."}</p>
    <form class="submit" onSubmit=${(event) => send(event, "submit-job")}>
      <div class="fields">
        <label>File<input type="file" accept=".conf,.config,.hocon,.json,.yaml,.yml,.sql" onChange=${chosen} /></label>
        <label>Format<select value=${job.format} onChange=${(event) => change({ format: event.target.value })}>
          ${Object.entries(FORMATS).map(([name, title]) => html`<option value=${name} selected=${name === job.format}>${title}</option>`)}</select></label>
        <label>Name<input value=${job.name} placeholder="as in the file" onInput=${(event) => change({ name: event.target.value })} /></label>
        <label>Id<input value=${job.id} placeholder="a new one" required=${job.restores} onInput=${(event) => change({ id: event.target.value })} /></label>
        <label class="choice" hidden=${!may("restore")}><input type="checkbox" checked=${job.restores} onChange=${(event) => change({ restores: event.target.checked })} /> resume the job with this ID</label>
      </div>
      <label class="editor">The job<textarea spellcheck=${false} rows="18" required value=${job.text} onInput=${(event) => change({ text: event.target.value })}></textarea></label>
      <div class="actions">
        ${may("check", "submit") && html`<button type="button" disabled=${result.busy} onClick=${(event) => send(event, "check")}>Check</button>`}
        ${may("submit") && html`<button class="first" disabled=${result.busy}>${restored ? "Restore" : "Submit"}</button>`}
        ${result.busy && html`<span class="quiet" role="status">${result.busy === "check" ? "Checking…" : "Submitting…"}</span>`}
      </div>
    </form>
    <div role="status">
      ${result.error && html`<section class="error"><h2>Not taken</h2><pre class="text" tabindex="0"><${Said} text=${missingCheck(result.error)} /></pre>
        ${/^[A-Z]+(-[A-Z]+)+$/i.test(helpOf(result.error)) && html`<p>More: <${Said} text=${`seatunnel help ${helpOf(result.error)}`} /></p>`}</section>`}
      ${result.submitted && html`<section class="fine"><h2>Submitted, with ${plural(result.submitted.warnings.length, "warning")}</h2>
        <${Problems} problems=${result.submitted.warnings} />
        <p><button type="button" class="first" onClick=${() => opened(result.submitted.jobId)}>Open the job</button></p></section>`}
      ${result.checked && html`<${Checked} answer=${result.checked} />`}
    </div>`;
}

/** REST writes the code of an error as other words for programs: `config_error` is CONFIG-ERROR. */
const helpOf = (error) => error.code.toUpperCase().replaceAll("_", "-");

const missingCheck = (error) => (error.isMissing ? "This node's version cannot check a job over REST: use `seatunnel --check`." : error.message);

function pathOf(what, job) {
  const query = new URLSearchParams({ format: job.format });
  if (job.name) query.set("jobName", job.name);
  if (job.id) query.set("jobId", job.id);
  if (job.file) query.set("fileName", job.file);
  if (job.restores) query.set("isStartWithSavePoint", "true");
  return `/${what}?${query}`;
}

/** Result of a check: all problems with their lines, and the plan with its guarantees. */
function Checked({ answer }) {
  const [errors, warnings] = [answer.errors ?? [], answer.warnings ?? []];
  const valid = answer.valid !== false;
  return html`<section class=${valid ? "fine" : "error"}><h2>${valid ? "It can run" : plural(errors.length, "problem")}</h2>
    <${Problems} problems=${errors} />
    ${warnings.length > 0 && html`<h3>Warnings</h3><${Problems} problems=${warnings} />`}
    ${(answer.pipelines ?? []).map((each) => html`<p><b>${each.title}</b> · ${each.guarantee}${each.because ? `: ${each.because}` : ""}</p>`)}
    ${answer.report && html`<details><summary>Full report of the check</summary><pre class="text" tabindex="0">${answer.report}</pre></details>`}
  </section>`;
}

function Problems({ problems }) {
  if (!problems.length) return null;
  const places = (each) => [each.file, each.line && `line ${each.line}`, each.column && `column ${each.column}`].filter(Boolean);
  const where = (each) => (places(each).length ? `${places(each).join(", ")}: ` : "");
  return html`<ul>${problems.map((each) => html`<li>${where(each)}<${Said} text=${each.message ?? each} />${each.suggestion && html`<br /><small>${each.suggestion}</small>`}</li>`)}</ul>`;
}
