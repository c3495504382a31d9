import Foundation
import Store
import Testing
import TrackerCore
import TrackerService

@Suite struct ProblemTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var code: String
        var category: ProblemCategory
        var run: @Sendable (TrackerAPI) throws -> Void

        var testDescription: String { code }
    }

    @Test(arguments: [
        Case(code: "amountRange", category: .refused) { _ = try $0.logDrink(.ml(5000)) },
        Case(code: "noSuchAmount", category: .refused) { _ = try $0.logDrink(.quick(9)) },
        Case(code: "notInTheFuture", category: .refused) {
            _ = try $0.logDrink(.cup, at: $0.now.advanced(seconds: 60))
        },
        Case(code: "notATime", category: .invalid) { _ = try $0.moment("late") },
        Case(code: "unsupportedTime", category: .invalid) { _ = try $0.moment("2500-01-01T00:00:00Z") },
        Case(code: "notADay", category: .invalid) { _ = try DayText.day("someday", today: $0.today()) },
        Case(code: "notAMonth", category: .invalid) { _ in _ = try DayText.month("2026-13") },
        Case(code: "unknownZone", category: .invalid) { _ in
            _ = try ZoneChoice(named: "Mars/Olympus", machine: .utc)
        },
        Case(code: "nothingToUndo", category: .refused) { _ = try $0.undo() },
        Case(code: "noSuchDrink", category: .notFound) { _ = try $0.edit("d99", EntryChange(ml: 100)) },
        Case(code: "noSuchDrink", category: .notFound) { _ = try $0.edit("none", EntryChange(ml: 100)) },
        Case(code: "noSuchDrink", category: .notFound) { _ = try $0.delete("d99") },
        Case(code: "noSessionEntry", category: .invalid) { _ = try $0.edit("d1", EntryChange(estimate: 1)) },
        Case(code: "noActiveSession", category: .refused) { _ = try $0.drink() },
        Case(code: "noActiveSession", category: .refused) { _ = try $0.endSession() },
        Case(code: "noActiveSession", category: .refused) { _ = try $0.keepGoing() },
        Case(code: "noActiveSession", category: .refused) { _ = try $0.session() },
        Case(code: "noSuchSession", category: .notFound) { _ = try $0.session("5e55") },
        Case(code: "noSuchSession", category: .notFound) { _ = try $0.sealLastSession() },
        Case(code: "waterVolume", category: .refused) { _ = try $0.water(oz: 101) },
        Case(code: "noSuchPreset", category: .notFound) { _ = try $0.drink(preset: "Mead") },
        Case(code: "noSuchPreset", category: .notFound) { _ = try $0.deletePreset("Mead") },
        Case(code: "presetName", category: .refused) { _ = try $0.addPreset("", PresetValues()) },
        Case(code: "presetName", category: .refused) { _ = try $0.addPreset("\u{92}\u{98}", PresetValues()) },
        Case(code: "presetName", category: .refused) { _ = try $0.addPreset("Stout\u{202E}", PresetValues()) },
        Case(code: "presetName", category: .refused) {
            _ = try $0.addPreset("Stout" + String(decoding: [0xEF, 0xBF, 0xBE], as: UTF8.self), PresetValues())
        },
        Case(code: "presetName", category: .refused) {
            _ = try $0.addPreset("e" + String(repeating: "\u{301}", count: 64), PresetValues())
        },
        Case(code: "presetName", category: .refused) { _ = try $0.addPreset(" \u{A0}\u{3164}", PresetValues()) },
        Case(code: "repeatedField", category: .invalid) {
            _ = try $0.set([("hydration.goalMl", "2000"), ("Hydration.GoalMl", "3000")])
        },
        Case(code: "label", category: .invalid) { _ = try $0.makeToken(label: "\u{1B}[2J", scope: .read) },
        Case(code: "label", category: .invalid) {
            _ = try $0.makeToken(label: String(repeating: "a", count: 65), scope: .read)
        },
        Case(code: "label", category: .invalid) { _ = try $0.makeToken(label: "", scope: .read) },
        Case(code: "noSuchSetting", category: .notFound) { _ = try $0.setting("hydration.gaol") },
        Case(code: "noSuchSetting", category: .notFound) { _ = try $0.set([("hydration.gaol", "1")]) },
        Case(code: "settingRule", category: .refused) { _ = try $0.set([("hydration.goalMl", "9000")]) },
        Case(code: "settingRule", category: .refused) { _ = try $0.set([("mqtt.prefix", "hy\u{85}dr")]) },
        Case(code: "settingRule", category: .refused) { _ = try $0.set([("bottle.alias", "x\u{202E}")]) },
        Case(code: "noSuchToken", category: .notFound) { _ = try $0.revokeTokens(nil) },
        Case(code: "notARecord", category: .invalid) { _ = try $0.record("twelve") },
        Case(code: "noSuchRecord", category: .notFound) { _ = try $0.record("r12") },
        Case(code: "noSuchRecord", category: .notFound) { _ = try $0.dateRecord("r12", at: $0.now) },
        Case(code: "badHealthFile", category: .damaged) { tracker in
            _ = try tracker.importDrinks { feed in try Array("nonsense".utf8).withUnsafeBytes(feed) }
        },
    ])
    func `each rejected input has its error code`(_ wanted: Case) throws {
        let fixture = try TrackerFixture()
        let tracker = try fixture.tracker()
        do {
            try wanted.run(tracker)
            Issue.record("nothing was refused")
        } catch {
            let problem = try #require(error as? any Problem, "\(error)")
            #expect(problem.code == wanted.code && problem.category == wanted.category)
            #expect(problem.sentence.count > 10 && "\(problem)" == problem.sentence)
            #expect(!problem.sentence.contains("--") && !problem.sentence.contains("waterh-"))
        }
        #expect(try tracker.state().drinkCount == 0 && tracker.contents().sessions == 0)
    }

    @Test func `an edit of a session entry in millilitres is rejected`() throws {
        let fixture = try TrackerFixture()
        _ = try fixture.tracker("20:00").startSession()
        _ = try fixture.tracker("20:01").drink()
        let problem = #expect(throws: WrongInput.self) { try fixture.tracker("20:02").edit("w1", EntryChange(ml: 100)) }
        #expect(problem?.code == "sessionEntry" && problem?.values == ["name": "w1"])
    }

    @Test(arguments: [
        (StoreError.Kind.busy, ProblemCategory.busy), (.diskFull, .diskFull), (.damaged, .damaged),
        (.foreign, .damaged), (.newer, .damaged),
        (.readOnly, .failed), (.cannotOpen, .failed), (.inputOutput, .failed), (.other, .failed),
    ])
    func `each store error has a problem category`(kind: StoreError.Kind, category: ProblemCategory) {
        let problem = StoreError(kind, "It does not go", at: "/a/b")
        #expect(problem.category == category && problem.code == kind.rawValue && problem.values["path"] == "/a/b")
        #expect(problem.sentence == "It does not go (/a/b).")
    }
}
