import Foundation
import Support
import Testing

@testable import PostgreSQL

/// The dashboard in `hardware/grafana`.
@Suite struct DashboardTests {
    private struct Dashboard: Decodable {
        struct Panel: Decodable {
            struct Target: Decodable { var rawSql: String }
            var title: String
            var targets: [Target]
        }
        struct Variables: Decodable {
            struct Variable: Decodable {
                var name: String
                var query: String
            }
            var list: [Variable]
        }
        var panels: [Panel]
        var templating: Variables
    }

    /// Replaces Grafana's macros and variables.
    private static func sql(_ query: String) -> String {
        query.replacing("$__timeFrom()", with: "'2020-01-01'").replacing("$__timeTo()", with: "'2030-01-01'")
            .replacing("${person:sqlstring}", with: "'Anna'")
    }

    @Test func `a viewer can run every query of the Grafana dashboard`() async throws {
        let database = try await TestDatabase()
        let rig = try await GatewayRig(database.gateway(person: "Anna"))
        try rig.drink(20)
        try await rig.publisher.send()
        let viewer = try await database.viewer()
        let file = URL(filePath: Program.repository + "/hardware/grafana/waterh.json")
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: file))
        #expect(dashboard.templating.list.map(\.name) == ["person"])
        #expect(try await viewer.run(dashboard.templating.list[0].query) == [["Anna"]])
        #expect(dashboard.panels.count >= 5)
        // The gateway has polled no bottle and is not silent.
        let empty: Set = ["Low batteries", "Silent gateways"]
        for panel in dashboard.panels {
            for target in panel.targets {
                let rows = try await viewer.run(Self.sql(target.rawSql))
                #expect(rows.isEmpty == empty.contains(panel.title), "\(panel.title): \(rows)")
            }
        }
    }
}
