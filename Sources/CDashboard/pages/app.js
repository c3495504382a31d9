// The app: one page with several paths. Each view is loaded when it is opened.
import { scopeHere } from './api.js';
import { h, icon, setText, show } from './dom.js';
import { mount, pathOf as bare } from './home.js';
import { ask, live, on, start, welcoming } from './live.js';
import { notices } from './notices.js';
import { refusals } from './refused.js';
import { status } from './status.js';
import { language, t } from './texts.js';
import { applyTheme } from './theme.js';
import { announce, toast } from './ui.js';

const pages = {
  '/': { name: 'today', open: async () => (await import('./today.js')).today },
  '/history': { name: 'history', open: async () => (await import('./history.js')).history },
  '/waterline': { name: 'waterline', open: async () => (await import('./waterline.js')).waterline },
  '/bottle': { name: 'bottle', open: async () => (await import('./bottle.js')).bottle },
  '/settings': { name: 'settings', open: async () => (await import('./settings.js')).settings },
  '/welcome': { name: 'welcome', open: async () => (await import('./welcome.js')).welcome, isHidden: true },
};

applyTheme();
document.documentElement.lang = language;
document.documentElement.dir = t.direction;
const main = document.getElementById('main');
const nav = document.getElementById('nav');
setText(document.getElementById('title'), t.title);
setText(document.getElementById('skip'), t.skip);
nav.setAttribute('aria-label', t.navigation);
document.getElementById('messages').setAttribute('aria-label', t.messages);

const links = new Map();
for (const [path, page] of Object.entries(pages)) {
  if (page.isHidden) continue;
  const link = h('a', { href: mount + path }, icon(page.name, 'nav-icon'), h('span', {}, t.pages[page.name]));
  links.set(path, link);
  nav.append(link);
}

let leave = null;
let turn = 0;

const pathOf = () => {
  const path = bare();
  return pages[path] ? path : '/';
};

let isAsking = false;
/** The setup is done, or this page has opened it once. A skipped setup does not open again on this page. */
let isWelcomed = false;
/** Before the first goal is set no reminder is shown, except those of a session. */
const isBefore = () => isAsking || pathOf() === '/welcome' || (!isWelcomed && pathOf() !== '/waterline');
const showWelcome = () => welcoming(isBefore() && live.state?.service?.setupDone === false);

async function openPage({ isFirst = false } = {}) {
  turn += 1;
  const mine = turn;
  const path = pathOf();
  const page = pages[path];
  let view;
  try { view = await page.open(); } catch (error) {
    toast(t.pageMissing, { isProblem: true, action: t.again, onaction: () => openPage() });
    throw error;
  }
  // The response about the first visit opens a view. Today would show a deficit for a goal that is not set.
  if (mine !== turn || (isAsking && path === '/')) return;
  leave?.();
  const root = h('div', { class: `page page-${page.name}` });
  main.replaceChildren(root);
  main.dataset.page = page.name;
  for (const [each, link] of links) {
    if (each === path) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  // Waterline's name is not in the window's title, which others can see (US-036).
  document.title = ['today', 'waterline'].includes(page.name) ? t.title : `${t.pages[page.name]} · ${t.title}`;
  leave = view(root, { go }) ?? null;
  showWelcome();
  if (isFirst) return;
  scrollTo(0, 0);
  main.focus({ preventScroll: true });
  announce(t.pages[page.name]);
}

function go(path) {
  if (mount + path !== location.pathname + location.hash) history.pushState(null, '', mount + path);
  openPage();
  welcomeFirst(live.state?.service);
}

document.addEventListener('click', (event) => {
  const link = event.target.closest('a[href]');
  if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const address = new URL(link.href);
  const isOurs = address.origin === location.origin && (!mount || address.pathname.startsWith(`${mount}/`));
  if (!isOurs || !pages[bare(address.pathname)] || link.target) return;
  event.preventDefault();
  go(bare(address.pathname) + address.hash);
});
addEventListener('popstate', () => {
  openPage();
  welcomeFirst(live.state?.service);
});

status();
document.getElementById('status').after(refusals());

const demo = document.getElementById('demo');
on('state', ({ service }) => {
  setText(demo, service?.speed > 1 ? t.demo(service.speed) : '');
  show(demo, service?.speed > 1);
});

on('state', ({ service }) => {
  const isShown = service?.waterlineShown !== false;
  show(links.get('/waterline'), isShown);
  if (!isShown && pathOf() === '/waterline') go('/');
  welcomeFirst(service);
  showWelcome();
});

/** Opens the setup once for a user who has not set a goal. */
function welcomeFirst(service) {
  const isFirst = service?.setupDone === false && !isWelcomed && pathOf() === '/';
  if (isFirst && !live.isFromMemory) {
    main.replaceChildren();
    isAsking = true;
    scopeHere().catch(() => 'admin').then((scope) => {
      isAsking = false;
      if (['control', 'admin'].includes(scope) && pathOf() === '/') go('/welcome');
      else openPage();
    });
  } else if (isFirst && !isAsking) {
    // The stored state of the setup applies while the service is unavailable; otherwise the service's state applies.
    isAsking = true;
    ask().then(() => { if (live.isFromMemory) showDay(); });
  } else if (isAsking && !isWelcomed && service && !live.isFromMemory) {
    showDay();
  }
  if (service && !live.isFromMemory && (service.setupDone !== false || ['/', '/welcome'].includes(pathOf()))) isWelcomed = true;
}

function showDay() {
  isAsking = false;
  showWelcome();
  if (pathOf() === '/') openPage({ isFirst: true });
}

addEventListener('waterh-signed-out', () => { if (location.pathname !== '/sign-in') location.assign(`/sign-in?to=${encodeURIComponent(location.pathname)}`); });
addEventListener('waterh-refused', (event) => toast(event.detail, { isProblem: true, seconds: 10 }));

start();
notices();
openPage({ isFirst: true });
// Installing requires a secure context; the page works without. Below another site's path no service worker is
// registered.
if ('serviceWorker' in navigator && !mount) navigator.serviceWorker.register('/sw.js').catch(() => {});
