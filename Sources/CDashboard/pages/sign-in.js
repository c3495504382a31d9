// Signs this browser in with an access code of `waterh-gateway open` or `waterh-gateway invite`. Their links have the code after `#`,
// which reaches no log of a server and no referrer.
import { get, newKey, request, Silence } from './api.js';
import { h, setText, show } from './dom.js';
import { language, said, t } from './texts.js';
import { applyTheme } from './theme.js';
import { field } from './ui.js';

applyTheme();
document.documentElement.lang = language;
const code = h('input', { type: 'text', autocapitalize: 'characters', autocomplete: 'one-time-code', spellcheck: false, maxlength: 14, required: true, class: 'code', autofocus: true });
const error = h('p', { class: 'error', role: 'alert', hidden: true });
const button = h('button', { type: 'submit', class: 'primary big' }, t.signIn);

/** The page that the visitor wanted; only one of this service. */
function destination() {
  const wanted = new URLSearchParams(location.search).get('to') ?? '/';
  return /^\/[a-z]*$/.test(wanted) ? wanted : '/';
}

/** By which the service knows this page again: a code lets in once, and whoever was let in and did not hear so may use it again under its key. */
const keys = new Map();
/** So often it is tried where no answer comes. */
const TRIES = 3;

async function redeem(typed) {
  if (!keys.has(typed)) keys.set(typed, newKey());
  for (let left = TRIES; ; left -= 1) {
    try { return await request('POST', '/sign-in', { code: typed }, { key: keys.get(typed) }); } catch (problem) {
      if (!(problem instanceof Silence) || left <= 1) throw problem;
    }
  }
}

async function signIn(event) {
  event?.preventDefault();
  const typed = code.value.replace(/[\s-]/g, '').toUpperCase();
  button.disabled = true;
  show(error, false);
  try {
    if (typed.length !== 10) throw new Error(t.codeRule);
    await redeem(typed);
    location.replace(destination());
  } catch (problem) {
    setText(error, said(problem.message));
    show(error, true);
    code.setAttribute('aria-invalid', 'true');
    code.focus();
  } finally {
    button.disabled = false;
  }
}

document.getElementById('main').append(h('section', { class: 'card sign-in-card', 'aria-labelledby': 'sign-in-title' },
  h('h1', { id: 'sign-in-title' }, t.signInTitle), h('p', {}, t.signInWords), h('p', { class: 'terminal' }, 'waterh-gateway open'),
  h('form', { novalidate: true, onsubmit: signIn }, field(t.code, code, { hint: t.codeHint }), error, button)));

const scanned = /^#([0-9A-Za-z -]{10,14})$/.exec(decodeURIComponent(location.hash));
if (scanned) {
  code.value = scanned[1];
  // The address must not keep a code that somebody could look at later.
  history.replaceState(null, '', location.pathname + location.search);
  // A browser that is signed in needs no further token.
  get('/access').catch(() => null).then((caller) => (caller?.scope === 'admin' ? location.replace(destination()) : signIn()));
}
