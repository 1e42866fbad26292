import type { Locator, Page } from 'playwright-core'

/** A user of pages, who finds fields and buttons by their accessible names. */
export type Hands = {
  page: Page
  fill(label: string, text: string): Promise<void>
  /** Presses a button or follows a link. */
  press(name: string): Promise<void>
}

const MOST_TABS = 200

/** Uses only the keyboard, and reaches elements with Tab. */
export function keyboard(page: Page): Hands {
  const reach = async (target: Locator) => {
    await target.waitFor()
    for (let n = 0; n < MOST_TABS; n++) {
      if (await target.evaluate(isFocused)) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`Tab does not reach ${target}`)
  }
  return {
    page,
    fill: async (label, text) => {
      await reach(fieldOf(page, label))
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.type(text)
    },
    press: async name => {
      await reach(pressable(page, name))
      await page.keyboard.press('Enter')
    },
  }
}

/** Runs in the browser. */
function isFocused(element: unknown): boolean {
  return (globalThis as unknown as { document: { activeElement: unknown } }).document.activeElement === element
}

/** Uses a mouse. */
export function mouse(page: Page): Hands {
  return {
    page,
    fill: (label, text) => fieldOf(page, label).fill(text),
    press: name => pressable(page, name).click(),
  }
}

function fieldOf(page: Page, label: string): Locator {
  return page.getByRole('main').getByLabel(label, { exact: true }).first()
}

function pressable(page: Page, name: string): Locator {
  const named = { name, exact: true }
  return page.getByRole('button', named).or(page.getByRole('link', named)).first()
}
