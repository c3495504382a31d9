import Foundation
import Testing
import TrackerCore
import TrackerService
import TrackerSupport

@testable import Store

@Suite struct WireImportTests {
    private static let sip = """
        {"at":1770070875000,"bottle":"A4:C1:38:00:00:01","gateway":"g","ml":300,\
        "raw":"1A020216150F012C0000016100","reading":"calendar/u16be",\
        "received":1770070875000,"verdict":"drink","version":1,"wall":"2026-02-02T22:21:15","zone":"Etc/UTC"}
        """

    private static func tracker() throws -> TrackerAPI {
        TrackerAPI(try TrackerStore(inMemory: "Etc/UTC"), .test(at: Instant(milliseconds: 1_770_070_900_000)))
    }

    private static func take(_ text: String, into tracker: TrackerAPI) throws -> JournalImportReport {
        try tracker.importJournal { feed in try Array(text.utf8).withUnsafeBytes { try feed($0) } }
    }

    @Test(arguments: [
        Self.sip, Self.sip.replacingOccurrences(of: #""reading":"calendar/u16be","#, with: ""),
        Self.sip.replacingOccurrences(of: #"12C"#, with: "02C").replacingOccurrences(of: ":300", with: ":44")
            .replacingOccurrences(of: "calendar/u16be", with: "strict/u8"),
        // A bottle's drink of more than 2000 ml keeps its amount when the user corrects its time.
        Self.sip.replacingOccurrences(
            of: #""verdict":"drink""#,
            with: #"""
                "verdict":"drink","deleted":true,"edit":{"key":"k","ml":2500,"at":1770070875000,"zone":"Etc/UTC"}
                """#),
    ])
    func `an entry that matches its bytes is imported`(line: String) throws {
        #expect(try Self.take(line + "\n", into: Self.tracker()).added == 1)
    }

    @Test(arguments: [
        // Another drink's time or amount would replace that drink.
        (#""ml":300"#, #""ml":105"#, "another time or amount"), ("22:21:15", "22:21:16", "another time or amount"),
        ("2026-02-02T", "2025-02-02T", "another time or amount"),
        ("calendar/u16be", "strict/u8", "another time or amount"), ("calendar/u16be", "hearsay", "hearsay"),
        // A flag that contradicts the verdict.
        (#"6100""#, #"6101""#, "not a drink"),
        (#""verdict":"drink""#, #""verdict":"notADrink","reason":"flag""#, "verdict is notADrink"),
        (#""verdict":"drink""#, #""verdict":"notADrink","reason":"zero""#, "verdict is notADrink"),
        ("\"at\":1770070875000", "\"at\":253380000000000", "after it was received"),
        (
            #""verdict":"drink""#, #""verdict":"drink","edit":{"key":"k","ml":5,"at":1770070875000,"zone":"Etc/UTC"}"#,
            "edit"
        ),
    ]) func `an entry that contradicts its bytes rejects the whole import`(
        part: String, other: String, why: String
    ) throws {
        let tracker = try Self.tracker()
        try #require(Self.sip.contains(part))
        let text = Self.sip + "\n" + Self.sip.replacingOccurrences(of: part, with: other) + "\n"
        let problem = #expect(throws: WrongInput.self) { try Self.take(text, into: tracker) }
        #expect(
            problem?.sentence.hasPrefix("Line 2 ") == true && problem?.sentence.contains(why) == true,
            "\(problem?.sentence ?? "")")
        #expect(try tracker.store.journalCounts() == JournalCounts(drinks: 0, notDrinks: 0, quarantined: 0))
    }
}
