import CommandKit
import Foundation
import ScenarioFiles
import Scenarios
import Testing

/// The days that ship: each holds, each tells its story, and the page tells of all.
@Suite struct ScenarioCatalogueTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .appending(path: "hardware/scenarios")

    private static func catalogue() throws -> [(name: String, scenario: Scenario)] {
        try ScenarioCatalogue.files([folder.path]).map {
            (URL(fileURLWithPath: $0).lastPathComponent, try ScenarioFile(path: $0).scenario)
        }
    }

    @Test("every day of the catalogue keeps what it promises")
    func all() throws {
        let days = try Self.catalogue()
        #expect(days.count >= 30)
        var slowest = (name: "", seconds: 0.0)
        for (name, scenario) in days {
            #expect(scenario.story.count > 100 && scenario.promise != ScenarioPromise(), "\(name)")
            let played = try PlayedScenario(scenario)
            #expect(played.violations == [], "\(name)")
            if played.seconds > slowest.seconds { slowest = (name, played.seconds) }
        }
        print("scenarios: \(days.count) days, the slowest \(slowest.name) with \(slowest.seconds) s")
    }

    @Test("what stands in a file is what is written of it, too")
    func roundTrip() throws {
        for (name, scenario) in try Self.catalogue() {
            #expect(try ScenarioFile(text: ScenarioText.text(scenario), name: name).scenario == scenario, "\(name)")
        }
    }

    @Test("the page tells of each day what its file tells")
    func page() throws {
        let readme = try String(contentsOf: Self.folder.appending(path: "README.md"), encoding: .utf8)
        let marker = "# The days\n\n"
        let begins = try #require(readme.range(of: marker))
        let page = ScenarioCatalogue.page(try Self.catalogue())
        #expect(
            readme[begins.upperBound...] == page + "\n",
            "the part after \"# The days\" is to be what `waterh-gateway scenario list hardware/scenarios` prints")
    }
}
