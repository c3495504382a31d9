// What this device remembers. Storage may be switched off or full: then the page works without.
import { person } from './home.js';

/** What is one person's, and not the device's: several may look at their days here. */
const PERSONAL = new Set(['state', 'queue', 'refused', 'confettiDay', 'push']);
const keyOf = (name) => (person && PERSONAL.has(name) ? `waterh.${name}@${person}` : `waterh.${name}`);

function read(name) {
  try { return JSON.parse(localStorage.getItem(keyOf(name))); } catch { return null; }
}

function write(name, value) {
  try {
    if (value === null || value === undefined) localStorage.removeItem(keyOf(name));
    else localStorage.setItem(keyOf(name), JSON.stringify(value));
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
  else for (const name of [...fallback.keys()]) if (event.key === keyOf(name)) fallback.delete(name);
});

export const forgetAll = () => {
  fallback.clear();
  try {
    const isOurs = (key) => key.startsWith('waterh.') && (!key.includes('@') || key.endsWith(`@${person}`));
    for (const key of Object.keys(localStorage)) if (isOurs(key)) localStorage.removeItem(key);
  } catch { /* As above. */ }
};
