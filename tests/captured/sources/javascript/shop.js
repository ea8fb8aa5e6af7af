'use strict';
const { readFile } = require('node:fs/promises');
class Refused extends Error {
  constructor(message, options) { super(message, options); this.name = 'Refused'; this.code = 'E_REFUSED'; }
}
class Repo {
  #items = new Map();
  get(id) { return this.#items.get(id).price; }
  static open() { return new Repo(); }
  get size() { return null.size; }
}
const price = async (id) => { try { return await fetchPrice(id); } catch (error) { throw new Refused('order 17 refused:\n  total of ' + id, { cause: error }); } };
async function fetchPrice(id) { await null; return Repo.open().get(id); }
function all(ids) { return Promise.all(ids.map((id) => price(id))); }
async function main(what) {
  if (what === 'cause') return await all(['a', 'b']);
  if (what === 'aggregate') throw new AggregateError([new TypeError('first'), new Refused('second', { cause: new RangeError('deep') })], 'many failed');
  if (what === 'any') return await Promise.any([fetchPrice('a'), price('b')]);
  if (what === 'logged') { try { await price('x'); } catch (e) { console.error('payment failed', e); console.error(e.stack); console.log('going on'); } return; }
  if (what === 'getter') return new Repo().size;
  if (what === 'new') return new (class Cart { constructor() { [1].forEach(function each(n) { undefined.x; }); } })();
  if (what === 'string') throw 'just a string';
  if (what === 'json') { try { JSON.parse('{"a": '); } catch (e) { console.log(JSON.stringify({ level: 'error', msg: 'bad body', stack: e.stack })); } return; }
  if (what === 'read') return await readFile('/nowhere/at/all');
  if (what === 'assert') require('assert').strictEqual(1, 2);
  if (what === 'overflow') { const f = (n) => f(n + 1); return f(0); }
  if (what === 'bind') return setImmediate(Repo.prototype.get.bind({}, 1));
  if (what === 'reject') return void Promise.reject(new Error('nobody waits'));
  if (what === 'rejectval') return void Promise.reject(42);
}
main(process.argv[2]);
