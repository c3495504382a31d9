import HTTPTypes
import Hummingbird
import Store
import TrackerDesk

/// Who lives here, for the page's choice and for programs that show several days.
enum PeopleRoutes {
    static func add(to table: RouteTable, _ household: Household) {
        table.plain("\(RouteTable.base)/people") { _, visit in
            let names = household.people.map(\.name)
            let visible = visit.rights.visible(of: names)
            if visible.isEmpty { try visit.refuse(.read) }
            let people = visible.map { name in
                let scope = visit.rights.scope(for: name)
                // A store that cannot be read right now keeps nobody else from being listed.
                let id = scope.flatMap { _ in try? household.person(name)?.desk().store.profile()?.userID }
                return Listed(name: name, id: id, page: household.page(of: name), scope: scope?.rawValue)
            }
            return Answer.json(List(people: people, meant: visit.rights.meant(of: names, host: visit.host))).response
        }
    }

    private struct List: Encodable {
        var people: [Listed]
        /// Who is meant where a path names nobody.
        var meant: String?
    }

    private struct Listed: Encodable {
        var name: String
        /// Made with the day, and kept when its person is given another name; not there where nobody has begun, and for
        /// who may not look.
        var id: String?
        /// Where the day is shown.
        var page: String
        /// What the caller may do with it; without one not even look.
        var scope: String?
    }
}
