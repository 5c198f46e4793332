// A list of any length of which only what can be seen is in the document. Rows stand in normal
// flow between two paddings; heights are guessed until a row has been seen, then known.

const OVERSCAN = 500; // pixels above and below the window that are drawn, too
const GAP = 12; // as --gap in the style

class VirtualList {
  constructor(scroller, list, { estimate, draw }) {
    Object.assign(this, { scroller, list, estimate, draw });
    this.items = [];
    this.heights = new Map(); // of items that have been drawn
    this.nodes = new Map();
    this.sizes = new Float64Array(0); // heights of all items, known or guessed
    this.offsets = new Float64Array(1);
    this.stale = true; // whether the offsets are still to be computed
    let pending = false;
    scroller.addEventListener("scroll", () => {
      if (pending) return;
      pending = true;
      requestAnimationFrame(() => {
        pending = false;
        this.update();
      });
    });
    let width = 0;
    new ResizeObserver(() => {
      const first = this.#at(scroller.scrollTop);
      this.stale = true;
      if (scroller.clientWidth !== width) {
        this.heights.clear(); // text wraps elsewhere
        this.#take(this.items);
        this.#place();
        if (width) scroller.scrollTop = this.offsets[first]; // the first row that is seen stays
      }
      width = scroller.clientWidth;
      this.update();
    }).observe(scroller);
  }

  show(items) {
    this.#take(items);
    this.redraw();
  }

  /** Position of an item, undefined if it is not in the list. */
  positionOf(item) {
    return item && this.items[item.position] === item ? item.position : undefined;
  }

  has(item) {
    return this.positionOf(item) !== undefined;
  }

  /** Show items in a new order; one of them stays in the document as it is. */
  reorder(items, kept) {
    this.#take(items);
    for (const [item, node] of this.nodes) {
      if (item === kept) continue;
      if (!this.has(item)) {
        node.remove();
        this.nodes.delete(item);
        continue;
      }
      const drawn = this.draw(item, item.position, node);
      node.replaceWith(drawn);
      this.nodes.set(item, drawn);
    }
    this.update();
  }

  /** Draw everything in sight anew. */
  redraw() {
    for (const node of this.nodes.values()) node.remove();
    this.nodes.clear();
    this.update();
  }

  /** Draw one row anew, if it is in the document. */
  redrawItem(item) {
    const old = this.nodes.get(item);
    if (!old) return;
    const node = this.draw(item, this.positionOf(item), old);
    old.replaceWith(node);
    this.nodes.set(item, node);
    this.update();
  }

  update() {
    this.#place();
    const first = this.#at(this.scroller.scrollTop);
    const anchor = this.offsets[first] - this.scroller.scrollTop;
    this.#fill();
    // Guesses above what is seen may have been wrong: what is seen must not jump.
    if (this.#measure()) {
      this.#place();
      const wanted = this.offsets[first] - anchor;
      if (Math.abs(wanted - this.scroller.scrollTop) > 1) this.scroller.scrollTop = wanted;
      this.#fill();
      this.#measure();
    }
  }

  /** Scroll as little as needed to see the row at a position, and a bit of its neighbors. */
  reveal(position) {
    const item = this.items[position];
    const room = Math.min(90, this.scroller.clientHeight / 6);
    for (let attempt = 0; attempt < 4; attempt++) {
      const top = this.offsets[position] - room;
      const bottom = this.offsets[position + 1] + room - this.scroller.clientHeight;
      const before = this.scroller.scrollTop;
      this.scroller.scrollTop = Math.min(Math.max(before, bottom), Math.max(0, top));
      this.update();
      if (this.nodes.has(item) && Math.abs(this.scroller.scrollTop - before) < 1) break;
    }
    return this.nodes.get(item);
  }

  /** Draw the first `count` rows whether seen or not, for paper. */
  drawAll(count) {
    this.#fill(0, Math.min(count, this.items.length));
  }

  #take(items) {
    this.items = items;
    this.sizes = new Float64Array(items.length);
    items.forEach((item, i) => {
      item.position = i;
      this.sizes[i] = item.guess ??= this.estimate(item);
    });
    for (const [item, height] of this.heights) if (this.has(item)) this.sizes[item.position] = height;
    this.stale = true;
  }

  #place() {
    if (!this.stale) return;
    this.stale = false;
    const { sizes } = this;
    const offsets = new Float64Array(sizes.length + 1);
    for (let i = 0; i < sizes.length; i++) offsets[i + 1] = offsets[i] + sizes[i] + GAP;
    this.offsets = offsets;
  }

  /** Position of the row at a height. */
  #at(y) {
    let low = 0;
    let high = this.items.length;
    while (low < high - 1) {
      const middle = (low + high) >> 1;
      if (this.offsets[middle] <= y) low = middle;
      else high = middle;
    }
    return low;
  }

  #fill(first, end) {
    const top = this.scroller.scrollTop;
    first ??= this.#at(top - OVERSCAN);
    end ??= Math.min(
      this.items.length,
      this.#at(top + this.scroller.clientHeight + OVERSCAN) + 1,
    );
    const wanted = this.items.slice(first, end);
    const wantedSet = new Set(wanted);
    for (const [item, node] of this.nodes) {
      if (wantedSet.has(item)) continue;
      node.remove();
      this.nodes.delete(item);
    }
    wanted.forEach((item, i) => {
      if (!this.nodes.has(item)) this.nodes.set(item, this.draw(item, first + i));
      const node = this.nodes.get(item);
      if (this.list.children[i] !== node) this.list.insertBefore(node, this.list.children[i]);
    });
    this.list.style.paddingTop = `${this.offsets[first]}px`;
    this.list.style.paddingBottom = `${this.offsets.at(-1) - this.offsets[end]}px`;
  }

  /** Take the heights of what is drawn; returns whether one was not as thought. */
  #measure() {
    for (const [item, node] of this.nodes) {
      const height = node.offsetHeight;
      this.stale ||= Math.abs(this.sizes[item.position] - height) > 0.5;
      this.heights.set(item, height);
      this.sizes[item.position] = height;
    }
    return this.stale;
  }
}
