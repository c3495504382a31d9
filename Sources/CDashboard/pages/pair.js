// Letting this browser in: the short code that `waterh-gateway pair` shows in the terminal. Its QR code opens this page with the code
// behind `#`, which no server's log and no referrer ever sees.
import { newKey, request, Silence } from './api.js';
import { h, setText, show } from './dom.js';
import { language, said, t } from './texts.js';
import { applyTheme } from './theme.js';
import { field } from './ui.js';

applyTheme();
document.documentElement.lang = language;
const code = h('input', { type: 'text', inputmode: 'numeric', autocomplete: 'one-time-code', maxlength: 12, required: true, class: 'code', autofocus: true });
const error = h('p', { class: 'error', role: 'alert', hidden: true });
const button = h('button', { type: 'submit', class: 'primary big' }, t.letMeIn);

/** The page that the visitor wanted; only one of this service. */
function destination() {
  const wanted = new URLSearchParams(location.search).get('to') ?? '/';
  return /^\/[a-z]*$/.test(wanted) ? wanted : '/';
}

/** By which the service knows this page again: a code lets in once, and whoever was let in and did not hear so may use it again under its key. */
const keys = new Map();
/** So often it is tried where no answer comes. */
const TRIES = 3;

async function redeem(digits) {
  if (!keys.has(digits)) keys.set(digits, newKey());
  for (let left = TRIES; ; left -= 1) {
    try { return await request('POST', '/pair', { code: digits }, { key: keys.get(digits) }); } catch (problem) {
      if (!(problem instanceof Silence) || left <= 1) throw problem;
    }
  }
}

async function pair(event) {
  event?.preventDefault();
  const digits = code.value.replace(/\D/g, '');
  button.disabled = true;
  show(error, false);
  try {
    if (digits.length < 4) throw new Error(t.codeRule);
    await redeem(digits);
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

document.getElementById('main').append(h('section', { class: 'card pair-card', 'aria-labelledby': 'pair-title' },
  h('h1', { id: 'pair-title' }, t.pairTitle), h('p', {}, t.pairWords), h('p', { class: 'terminal' }, 'waterh-gateway pair'),
  h('form', { novalidate: true, onsubmit: pair }, field(t.code, code, { hint: t.codeHint }), error, button)));

const scanned = /^#(?:code=)?([\d -]{4,12})$/.exec(decodeURIComponent(location.hash));
if (scanned) {
  code.value = scanned[1];
  // The address must not keep a code that somebody could look at later.
  history.replaceState(null, '', location.pathname + location.search);
  pair();
}
