// What this device remembers. Storage may be switched off or full: then the page works without.

function read(name) {
  try { return JSON.parse(localStorage.getItem(`waterh.${name}`)); } catch { return null; }
}

function write(name, value) {
  try {
    if (value === null || value === undefined) localStorage.removeItem(`waterh.${name}`);
    else localStorage.setItem(`waterh.${name}`, JSON.stringify(value));
  } catch { /* Nothing to be done: it is forgotten with this page. */ }
}

const fallback = new Map();

/** `remembered.figure = true`; `null` forgets. */
export const remembered = new Proxy({}, {
  get: (_, name) => (fallback.has(name) ? fallback.get(name) : read(name)),
  set: (_, name, value) => {
    fallback.set(name, value);
    write(name, value);
    return true;
  },
});

/** Another page of this browser wrote: what we hold is old. */
addEventListener('storage', (event) => {
  if (event.key === null) fallback.clear();
  else if (event.key.startsWith('waterh.')) fallback.delete(event.key.slice(7));
});

export const forgetAll = () => {
  fallback.clear();
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith('waterh.')) localStorage.removeItem(key);
  } catch { /* As above. */ }
};
