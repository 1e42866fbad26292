/** One page of a list. */
export type Page<Item> = {
  object: 'list'
  /** True if there are more items beyond this page. */
  has_more: boolean
  data: Item[]
}

/** Where a page begins or ends, and how long it is. */
export type PageQuery = { limit?: number; after?: string; before?: string }

/** Items per request when all pages are read. */
const MOST_PER_PAGE = 100

/**
 * A list. `for await` reads all of its items, page by page; `await` reads one page, and `all()` returns all items as an array.
 * With `before`, items are read towards newer ones.
 */
export class Pages<Item extends { id: string }> implements AsyncIterable<Item>, PromiseLike<Page<Item>> {
  readonly #query: PageQuery
  readonly #read: (query: PageQuery) => Promise<Page<Item>>

  constructor(query: PageQuery, read: (query: PageQuery) => Promise<Page<Item>>) {
    this.#query = query
    this.#read = read
  }

  /** Reads one page: the first one, or the one at `after` or `before`. */
  page(): Promise<Page<Item>> {
    return this.#read(this.#query)
  }

  /** Reads all items, or the first `max`. */
  async all({ max = Number.POSITIVE_INFINITY }: { max?: number } = {}): Promise<Item[]> {
    const items: Item[] = []
    if (max <= 0) return items
    for await (const item of this) {
      items.push(item)
      if (items.length >= max) break
    }
    return items
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    const isBackwards = this.#query.before !== undefined
    const query: PageQuery = { limit: MOST_PER_PAGE, ...this.#query }
    let page: Page<Item> | null = await this.#read(query)
    while (page) {
      const items: Item[] = isBackwards ? page.data.toReversed() : page.data
      yield* items.slice(0, -1)
      const last = items.at(-1)
      if (!last) return
      // Before the caller gets the item at which the next page begins, since it may delete that item.
      page = page.has_more ? await this.#read({ ...query, [isBackwards ? 'before' : 'after']: last.id }) : null
      yield last
    }
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a list reads its first page
  then<Result = Page<Item>, Failure = never>(
    onPage?: ((page: Page<Item>) => Result | PromiseLike<Result>) | null,
    onError?: ((error: unknown) => Failure | PromiseLike<Failure>) | null,
  ): Promise<Result | Failure> {
    return this.page().then(onPage, onError)
  }
}
