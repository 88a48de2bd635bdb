// Prints the completions that Prometheus' editor of expressions offers at the position of "|" in each expression: a line of JSON for each.
// Arguments: the URL of a server, the expressions as JSON.
const { newCompleteStrategy } = require('@prometheus-io/codemirror-promql/dist/cjs/complete');
const { promQLLanguage, LanguageType } = require('@prometheus-io/codemirror-promql');
const { EditorState } = require('@codemirror/state');
const { CompletionContext } = require('@codemirror/autocomplete');

const failed = [];
const strategy = newCompleteStrategy({ remote: { url: process.argv[2], httpErrorHandler: (err) => failed.push(String(err)) } });

(async () => {
  for (const text of JSON.parse(process.argv[3])) {
    const at = text.indexOf('|');
    const state = EditorState.create({ doc: text.slice(0, at) + text.slice(at + 1), extensions: promQLLanguage(LanguageType.PromQL) });
    const found = await strategy.promQL(new CompletionContext(state, at, true));
    const options = (found ? found.options : []).map(({ label, detail, info }) => ({ label, detail, info }));
    console.log(JSON.stringify({ text, options, failed: failed.splice(0) }));
  }
})();
