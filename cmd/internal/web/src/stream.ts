// A browser has six connections to a server, for all its windows: some are left for requests.

const slots = 4;
let open = 0; // without locks, which browsers have for encrypted pages and those of this machine

// slot reserves a connection for a stream. It returns the function that releases it, or null if all are taken.
export async function slot(): Promise<(() => void) | null> {
  if (!navigator.locks) {
    if (open >= 2) return null;
    open++;
    return () => void open--;
  }
  for (let i = 0; i < slots; i++) {
    const release = await new Promise<(() => void) | null>((done) => {
      void navigator.locks.request("pcp-stream-" + i, { ifAvailable: true }, (lock) => (lock ? new Promise<void>((end) => done(end)) : done(null)));
    });
    if (release) return release;
  }
  return null;
}
