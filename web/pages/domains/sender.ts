import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import type { Html } from '#web/html.ts'
import { form } from '#web/layout/form.ts'
import { section } from '#web/layout/parts.ts'
import { idOf } from '#web/layout/record_page.ts'
import { type Action, action, type Page, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'

/** A form for what recipients see: the postal address in the footer of campaigns, and the look of the pages to unsubscribe. */
export function senderHtml(visit: Visit, { id, brand, postal_address }: Wire<PresentedDomain>): Html | string {
  if (!visit.mayChange) return ''
  return section(
    'Sender',
    form(visit, {
      ...{ action: `/domains/${id}/sender`, submit: 'Save sender' },
      fields: [
        {
          ...{ name: 'postal_address', label: 'Postal address', value: postal_address },
          hint: 'In the footer of campaigns. Many countries require it. Leave empty for that of the account.',
        },
        {
          ...{ name: 'name', label: 'Name', value: brand.name },
          hint: 'On the pages on which recipients unsubscribe. Leave empty for the name of the domain.',
        },
        { name: 'color', label: 'Color of the buttons', value: brand.color, placeholder: '#1a5fb4' },
        { name: 'logo_url', label: 'URL of the logo', type: 'url', value: brand.logo_url },
      ],
    }),
  )
}

/** The action of the form above. `page` has that form. */
export function senderAction(page: Page): Action {
  return action('/domains/:id/sender', page, async (visit, form) => {
    const [name, color, logo_url] = ['name', 'color', 'logo_url'].map(field => form.textOrNull(field))
    const body = { postal_address: form.textOrNull('postal_address'), brand: { name, color, logo_url } }
    await visit.call('updateDomain', { params: idOf(visit), body })
    return { to: `/domains/${idOf(visit).id}`, notice: 'Sender saved.' }
  })
}
