// browser.mjs runs the steps of a test in a headless browser.
//
// Its argument is JSON: {chromium, origins, scripts, steps}. The first origin is the server
// under test. A step is an object with one member: open (a URL), fill ({label: value}), type
// ({selector: value}), click (the name of a button or link), see (a text), url (the beginning
// of the address), value ({label: value}), or focus (a label). The output is one JSON object:
// {error, violations, requests}. error is empty if all steps succeeded. violations are what
// the browser complained about on pages of the server. requests are those of its pages to
// other origins, and visits of origins that are not listed.
import { createRequire } from "node:module";

const require = createRequire(process.env.BROWSER_MODULES + "/");
const { chromium } = require("playwright-core");
const { chromium: executablePath, origins, scripts, steps } = JSON.parse(process.argv[2]);
const limit = 15_000;

async function run(page, step) {
  const [[kind, value]] = Object.entries(step);
  switch (kind) {
    case "open":
      await page.goto(value, { waitUntil: "load" });
      break;
    case "fill":
      for (const [label, text] of Object.entries(value)) await page.getByLabel(label, { exact: true }).fill(text);
      break;
    case "type":
      for (const [selector, text] of Object.entries(value)) await page.locator(selector).fill(text);
      break;
    case "click":
      await page.getByRole("button", { name: value, exact: true }).or(page.getByRole("link", { name: value, exact: true })).click();
      break;
    case "see":
      await page.getByText(value).first().waitFor();
      break;
    case "url":
      await page.waitForURL((url) => url.href.startsWith(value));
      break;
    case "value":
      for (const [label, text] of Object.entries(value)) {
        const found = await page.getByLabel(label, { exact: true }).inputValue();
        if (found !== text) throw new Error(`${label} is ${found}, not ${text}`);
      }
      break;
    case "focus":
      await page.getByLabel(value, { exact: true }).and(page.locator(":focus")).waitFor();
      break;
    default:
      throw new Error(`unknown step ${kind}`);
  }
}

const result = { error: "", violations: [], requests: [] };
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
});
try {
  const context = await browser.newContext({ javaScriptEnabled: scripts });
  const page = await context.newPage();
  page.setDefaultTimeout(limit);
  page.on("console", (m) => {
    const ours = m.location().url === "" || new URL(m.location().url).origin === origins[0];
    if (ours && (m.type() === "error" || m.type() === "warning")) result.violations.push(m.text());
  });
  page.on("pageerror", (e) => result.violations.push(e.message));
  page.on("request", (r) => {
    const { origin, protocol } = new URL(r.url());
    const of = URL.canParse(page.url()) ? new URL(page.url()).origin : "";
    if (protocol === "data:") return;
    if (r.isNavigationRequest() ? !origins.includes(origin) : of === origins[0] && origin !== of) result.requests.push(r.url());
  });
  for (const [i, step] of steps.entries()) {
    try {
      await run(page, step);
    } catch (e) {
      result.error = `step ${i + 1} ${JSON.stringify(step)} at ${page.url()}: ${e.message}\n${await page.locator("body").innerText()}`;
      break;
    }
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(result));
