// What a server lets this browser see that other users of its machine may not.
//
// The address that "pcp up" prints has a token. It is shown to the server once, which answers with
// a key and a cookie that scripts cannot read; both go with each request from then on. The key is
// kept for the page's own origin: a server on another port gets the cookie, but never the key.

const kept = "pcp.key";

export interface Access {
  // What the server has: no tokens at all, or whether it knows this browser.
  state: "none" | "known" | "unknown";
  problem: string; // why the token of the address is of no use
}

export const access: Access = { state: "none", problem: "" };

let key = "";
try {
  key = localStorage.getItem(kept) ?? "";
} catch {
  // Storage is forbidden: it lasts as long as the page.
}

// headers go with each request to the server.
export function headers(): Record<string, string> {
  return key ? { "X-PCP-Page": key } : {};
}

// takeToken takes the token out of the address, so that it does not stay in what is copied or remembered.
export function takeToken(): string {
  const q = new URLSearchParams(location.search);
  const token = q.get("token") ?? "";
  if (token) {
    q.delete("token");
    const rest = q.toString();
    history.replaceState(null, "", location.pathname + (rest ? "?" + rest : "") + location.hash);
  }
  return token;
}

let settle = () => {};

// settled is done when it is known whether the server knows this browser.
export const settled = new Promise<void>((done) => (settle = done));

// enter shows a token to the server, if there is one, and asks whether this browser is known.
export async function enter(base: string, token: string): Promise<void> {
  try {
    await show(base, token);
  } finally {
    settle();
  }
}

async function show(base: string, token: string): Promise<void> {
  if (token) {
    try {
      const r = await fetch(base + "-/page", { method: "POST", headers: { Authorization: "Bearer " + token } });
      const v = await r.json();
      if (r.ok && typeof v.key === "string") {
        key = v.key;
        access.state = "known";
        try {
          localStorage.setItem(kept, key);
        } catch {
          // as above
        }
        return;
      }
      access.problem = String(v.message ?? r.statusText);
    } catch {
      // A server without tokens, or none; what is asked next says so.
    }
  }
  try {
    const r = await fetch(base + "-/page", { headers: headers() });
    if (r.ok) access.state = (await r.json()).known === true ? "known" : "unknown";
  } catch {
    // as above
  }
}
