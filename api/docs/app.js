"use strict";
// Renders the OpenAPI description of this server. Text from the description is
// only ever set as text, never as markup.
const METHODS = ["get", "post", "put", "patch", "delete"];

function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (name === "class") node.className = value; else node[name] = value;
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

function resolve(doc, schema) {
  if (!schema || !schema.$ref) return schema || {};
  return schema.$ref.slice(2).split("/").reduce((at, key) => at[key.replace(/~1/g, "/").replace(/~0/g, "~")], doc);
}

// sketch writes a schema as a short example-like text.
function sketch(doc, schema, depth = 0) {
  schema = resolve(doc, schema);
  if (depth > 5) return "…";
  if (schema.oneOf) return schema.oneOf.map((s) => sketch(doc, s, depth)).join(" | ");
  const type = Array.isArray(schema.type) ? schema.type.filter((t) => t !== "null")[0] : schema.type;
  const pad = "  ".repeat(depth + 1);
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ");
  if (type === "array") return "[" + sketch(doc, schema.items, depth) + "]";
  if (schema.properties) {
    const required = new Set(schema.required || []);
    const lines = Object.entries(schema.properties).map(([name, sub]) => {
      const note = resolve(doc, sub).description || sub.description;
      return pad + JSON.stringify(name) + (required.has(name) ? "" : "?") + ": " + sketch(doc, sub, depth + 1) + (note ? "   // " + note : "");
    });
    return "{\n" + lines.join("\n") + "\n" + "  ".repeat(depth) + "}";
  }
  if (schema.additionalProperties && typeof schema.additionalProperties === "object") {
    return "{ <name>: " + sketch(doc, schema.additionalProperties, depth + 1) + " }";
  }
  return (type || "any") + (schema.format ? " (" + schema.format + ")" : "");
}

function parameters(op) {
  if (!op.parameters || op.parameters.length === 0) return null;
  const rows = op.parameters.map((p) => el("tr", {},
    el("td", {}, el("code", { textContent: p.name }), p.required ? " *" : ""),
    el("td", { textContent: p.in }),
    el("td", { textContent: [(p.schema && p.schema.type) || "", p.description || ""].filter(Boolean).join(": ") })));
  return el("table", {}, ...rows);
}

function bodyText(doc, holder) {
  const content = (holder && holder.content) || {};
  const [media, entry] = Object.entries(content)[0] || [];
  return media ? media + "\n" + sketch(doc, entry.schema) : "";
}

function sender(path, method, op) {
  const inputs = (op.parameters || []).filter((p) => p.in !== "header").map((p) =>
    [p, el("input", { placeholder: p.name + " (" + p.in + ")", ariaLabel: p.name })]);
  const body = op.requestBody ? el("textarea", { value: "{}", ariaLabel: "Request body" }) : null;
  const reply = el("pre", { hidden: true });
  const button = el("button", { type: "button", textContent: "Send" });
  button.addEventListener("click", async () => {
    let url = path;
    const query = new URLSearchParams();
    for (const [p, input] of inputs) {
      if (p.in === "path") url = url.replace("{" + p.name + "}", encodeURIComponent(input.value));
      else if (input.value !== "") query.set(p.name, input.value);
    }
    if ([...query].length) url += "?" + query;
    const headers = {};
    const token = document.getElementById("token").value;
    if (token) headers.Authorization = "Bearer " + token;
    if (body) headers["Content-Type"] = "application/json";
    reply.hidden = false;
    reply.textContent = "…";
    try {
      const res = await fetch(url, { method: method.toUpperCase(), headers, body: body ? body.value : undefined });
      const text = await res.text();
      let shown = text.slice(0, 20000);
      try { shown = JSON.stringify(JSON.parse(text), null, 2).slice(0, 20000); } catch { /* not JSON: shown as it is */ }
      reply.textContent = res.status + " " + res.statusText + "\n" + shown;
    } catch (err) {
      reply.textContent = String(err);
    }
  });
  return el("div", {}, ...inputs.map(([, i]) => i), body, button, reply);
}

function operation(doc, path, method, op) {
  const scope = (op.security || []).flatMap((s) => Object.values(s).flat()).join(", ");
  const ok = Object.entries(op.responses || {}).find(([status]) => status.startsWith("2"));
  const inner = el("div", {});
  const node = el("details", { class: "op", id: op.operationId || "" },
    el("summary", {}, el("span", { class: "method " + method, textContent: method.toUpperCase() }),
      el("span", { class: "path", textContent: path }), el("span", { class: "what", textContent: op.summary || "" })), inner);
  node.addEventListener("toggle", () => {
    if (!node.open || inner.childNodes.length) return;
    inner.append(...[
      op.description ? el("p", { textContent: op.description }) : null,
      scope ? el("p", {}, "Scope: ", el("code", { textContent: scope })) : null,
      parameters(op),
      op.requestBody ? el("h4", { textContent: "Request" }) : null,
      op.requestBody ? el("pre", { textContent: bodyText(doc, op.requestBody) }) : null,
      ok ? el("h4", { textContent: "Response " + ok[0] }) : null,
      ok ? el("pre", { textContent: bodyText(doc, ok[1]) || "(empty)" }) : null,
      sender(path, method, op),
    ].filter(Boolean));
  });
  node.dataset.words = [method, path, op.summary, op.description, scope].join(" ").toLowerCase();
  return node;
}

async function main() {
  const doc = await (await fetch("/v1/openapi.json")).json();
  document.getElementById("about").textContent = doc.info.title + " " + doc.info.version + (doc.info.description ? ": " + doc.info.description : "");
  const groups = new Map();
  for (const [path, item] of Object.entries(doc.paths)) {
    for (const method of METHODS) {
      if (!item[method]) continue;
      const tag = (item[method].tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push(operation(doc, path, method, item[method]));
    }
  }
  const sections = [...groups].map(([tag, ops]) => el("section", {}, el("h2", { textContent: tag }), ...ops));
  document.getElementById("operations").replaceChildren(...sections);
  document.getElementById("filter").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const section of sections) {
      let any = false;
      for (const op of section.querySelectorAll("details.op")) {
        op.hidden = !words.every((w) => op.dataset.words.includes(w));
        any = any || !op.hidden;
      }
      section.hidden = !any;
    }
  });
}

main().catch((err) => { document.getElementById("operations").textContent = "The description could not be loaded: " + err; });
