import { get } from './api.js';
import { bottleLine, bottleName, knowsDrift } from './bottle-line.js';
import { bottlesInRange } from './bottles.js';
import { commands } from './commands.js';
import { moment, number, offset } from './format.js';
import { h, setText, show } from './dom.js';
import { keptPolls } from './kept-polls.js';
import { live, on } from './live.js';
import { said, t } from './texts.js';
import { card } from './ui.js';

const clockFact = (seconds) => (seconds === 0 ? t.clockIsCorrect : t.clockFact(offset(seconds), seconds > 0));

export function bottle(root) {
  const line = bottleLine();
  const facts = h('dl', { class: 'counts' });
  const polls = h('ul', { class: 'polls' });
  const noPolls = h('p', { class: 'empty', hidden: true }, t.noPolls);
  const doubtful = h('p', { class: 'note', hidden: true });
  const inRange = bottlesInRange();
  const kept = keptPolls();
  root.append(h('div', { class: 'page-head' }, h('h2', { tabindex: '-1' }, t.pages.bottle)),
    h('div', { class: 'bottle-page' },
      h('div', { class: 'stack' }, line.node, inRange.node, card(t.condition, {}, facts)),
      h('div', { class: 'stack' }, commands(), card(t.polls, { class: 'polls-card' }, polls, noPolls, doubtful), kept.node)));

  const airName = (it) => (it && it.advertisedName !== bottleName(it) ? it.advertisedName : null);
  /** Hidden in a demonstration, where the drift is unknown. */
  const clockWords = (state) => (knowsDrift(state) ? clockFact(state.bottle.clockDriftSeconds) : state.service?.speed > 1 ? null : t.unknown);

  function fact(name, value) {
    return value === null || value === undefined || value === '' ? null : h('div', {}, h('dt', {}, name), h('dd', {}, value));
  }

  let known = '';
  const stop = on('state', (state) => {
    const { bottle: it, service } = state;
    inRange.update(service?.bottlesInRange);
    facts.replaceChildren(...[
      fact(t.name, it ? bottleName(it) : t.noBottle), fact(t.model, it?.model && it.model[0].toUpperCase() + it.model.slice(1)), fact(t.advertised, airName(it)),
      fact(t.batteryLabel, it && (it.batteryPercent === null ? t.unknown : `${it.batteryPercent} %`)),
      fact(t.clockLabel, it && clockWords(state)),
      fact(t.stored, it?.storedRecords ?? service?.storedRecords),
      fact(t.lastComplete, it?.lastCompletePoll && moment(it.lastCompletePoll)),
      fact(t.stage, service && (t.stages[service.stage] ?? service.stage)),
      fact(t.serviceVersion, service?.version),
    ].filter(Boolean));
    const mark = JSON.stringify([service?.lastPoll, service?.isPolling, state.connectionError]);
    if (mark === known || live.isFromMemory) return;
    known = mark;
    get('/polls').then(showPolls).catch(() => {});
    kept.load().catch(() => {});
    get('/journal').then(({ counts }) => {
      const odd = counts.records + counts.junkReceived;
      setText(doubtful, t.doubtful(odd));
      show(doubtful, odd > 0);
    }).catch(() => {});
  });

  function showPolls(answer) {
    const list = answer.polls ?? answer;
    noPolls.hidden = list.length > 0;
    polls.replaceChildren(...list.slice(0, 20).map((poll) => {
      const isDone = ['done', 'ok'].includes(poll.result);
      const counts = [poll.received ? t.pollCounts(poll.received, poll.new, poll.duplicates) : isDone && t.nothingNew, poll.suspect ? t.suspects(poll.suspect) : null].filter(Boolean).join(' · ');
      const rest = [poll.bottle, isDone ? null : counts, poll.seconds ? t.seconds(number(poll.seconds)) : null].filter(Boolean).join(' · ');
      return h('li', { 'data-result': poll.result, class: isDone ? null : 'is-failed' },
        h('time', { datetime: new Date(poll.at * 1000).toISOString() }, moment(poll.at)),
        h('span', { class: 'row-text' }, h('span', {}, isDone ? counts : said(poll.sentence) || poll.result), h('small', {}, rest)));
    }));
  }

  return () => {
    stop();
    line.stop();
  };
}
