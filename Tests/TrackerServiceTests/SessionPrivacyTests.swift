import Store
import Testing
import TrackerCore
import TrackerService

/// Without permission for sessions no method reports or changes one.
@Suite struct SessionPrivacyTests {
    private let fixture: TrackerFixture

    init() throws {
        fixture = try TrackerFixture()
        _ = try fixture.tracker().startSession()
    }

    @Test func `a session entry is hidden from a caller without access`() throws {
        _ = try fixture.tracker("12:01").drink()
        let veiled = try fixture.tracker("12:02").withAccess(waterline: false)
        #expect(throws: (any Error).self) { try veiled.edit("w1", EntryChange(estimate: 9)) }
        #expect(throws: (any Error).self) { try veiled.edit("w1", EntryChange(ml: 9)) }
        #expect(throws: (any Error).self) { try veiled.delete("w1") }
        // It is unchanged for a caller with permission.
        #expect(try fixture.tracker("12:03").edit("w1", EntryChange(estimate: 1)).asSession().logs.count == 1)
    }

    @Test func `undo skips changes of a hidden session`() throws {
        _ = try fixture.tracker("12:01").logDrink(.ml(250))
        _ = try fixture.tracker("12:02").drink()
        let veiled = try fixture.tracker("12:03").withAccess(waterline: false)
        #expect(try veiled.undo().state.pace.dailyTotalMl == 0)
        #expect(throws: Refusal.self) { try veiled.undo() }
        // It still exists for a caller with permission.
        #expect(try fixture.tracker("12:04").undo().undone.contains("drink"))
    }

    @Test func `changes of a hidden session cannot be undone by name`() throws {
        _ = try fixture.tracker("12:01").drink()
        let veiled = try fixture.tracker("12:02").withAccess(waterline: false)
        for reach in [UndoScope.everything, .drinks, .today, .session, .drink(1)] {
            #expect(throws: Refusal.self, "\(reach)") { try veiled.undo(reach) }
        }
        #expect(try fixture.tracker("12:03").undo(.session).undone == "drink")
    }

    @Test(arguments: [NotificationAction.logWater, .logDrink, .endSession, .keepGoing])
    func `a session button does nothing while sessions are hidden`(_ action: NotificationAction) throws {
        let veiled = try fixture.tracker("12:01").withAccess(waterline: false)
        #expect(throws: Refusal.self) { try veiled.press(action, key: "k") }
        #expect(try fixture.tracker("12:02").press(action, key: "k"))
    }

    @Test func `a delayed button press counts at its time`() throws {
        let tracker = try fixture.tracker("12:30")
        #expect(try tracker.press(.logCup, key: "late", at: tracker.moment("12:00")))
        #expect(try tracker.store.lastDrink()?.at == tracker.moment("12:00"))
    }
}
