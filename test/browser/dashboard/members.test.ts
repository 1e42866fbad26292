import t from 'tap'
import { openDashboard } from '#test/support/dashboard.ts'
import { newMember } from '#test/support/members.ts'

const dashboard = await openDashboard(t)
const { world, account } = dashboard

t.test('admins are offered only what they may do to members', async t => {
  const { id } = await newMember(world, account.id, 'owner')
  const { id: viewer } = await newMember(world, account.id, 'view_only')
  const rolesOf = async (role: 'owner' | 'admin') => {
    const page = await dashboard.signIn(role)
    const found: Record<string, string[]> = {}
    for (const path of ['/members', `/members/${viewer}`, `/members/${id}`]) {
      await page.goto(path)
      const values = await page
        .locator('main option')
        .evaluateAll(all => all.map(one => one.getAttribute('value') ?? ''))
      found[path.split('/').at(-1) as string] = values
    }
    return [found, await page.locator('main form').count(), await page.textContent('main')] as const
  }
  const all = ['view_only', 'admin', 'owner']
  const [ofOwner, forms] = await rolesOf('owner')
  t.strictSame(ofOwner, { members: all, [viewer]: all, [id]: all })
  t.equal(forms, 3)
  const [ofAdmin, adminForms, text] = await rolesOf('admin')
  const most = ['view_only', 'admin']
  t.strictSame(ofAdmin, { members: most, [viewer]: most, [id]: [] })
  t.equal(adminForms, 0)
  t.match(text, 'Only owners can change an owner.')
})
