// Signs this browser in with an access code of `waterh-gateway open` or `waterh-gateway invite`. Their links have the
// code in the fragment, which is in no server log and no referrer.
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

/** The page that the visitor requested, if it is one of this service. */
function destination() {
  const wanted = new URLSearchParams(location.search).get('to') ?? '/';
  return /^\/[a-z]*$/.test(wanted) ? wanted : '/';
}

/** Idempotency keys by code: a code is valid once, but may be used again with its key after a lost response. */
const keys = new Map();
/** The number of attempts without a response. */
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

/** Signs in with the code of the link. A link that is opened in this tab later changes only the fragment. */
function followLink() {
  const scanned = /^#([0-9A-Za-z -]{10,14})$/.exec(decodeURIComponent(location.hash));
  if (!scanned) return;
  code.value = scanned[1];
  // The address bar and the history must not keep a code.
  history.replaceState(null, '', location.pathname + location.search);
  // A signed-in administrator's browser needs no new token.
  get('/access').catch(() => null).then((caller) => (caller?.scope === 'admin' ? location.replace(destination()) : signIn()));
}

addEventListener('hashchange', followLink);
followLink();
