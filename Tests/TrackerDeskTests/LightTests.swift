import Store
import Testing
import TrackerCore
import TrackerService

/// What each bottle's light is to be told: only what is new, by the settings of that bottle.
@Suite struct LightTests {
    private static let (red, blue) = ("A4:C1:38:00:00:01", "A4:C1:38:00:00:02")

    @Test func `each bottle is told what is new, once`() throws {
        let fixture = try DeskFixture()
        _ = try fixture.desk().adoptBottle(Self.red)
        _ = try fixture.desk().adoptBottle(Self.blue)
        #expect(try fixture.desk("15:00").lightsDue().isEmpty, "nobody asked for it")
        _ = try fixture.desk().set([("bottle.light", "true")])
        _ = try fixture.desk().set([("bottle.light", "false")], ofBottle: Self.blue)
        let desk = try fixture.desk("15:00")
        #expect(
            try desk.lightsDue() == [Self.red: .strong] && desk.light(ofBottle: Self.red) == .strong
                && desk.light(ofBottle: Self.blue) == nil)
        try desk.noteLight(.strong, ofBottle: Self.red)
        #expect(try desk.lightsDue().isEmpty && desk.light(ofBottle: Self.red) == nil)
        // At night nobody is called for it; a bottle that is still lit is told at the next poll.
        #expect(
            try fixture.desk("22:30").lightsDue().isEmpty && fixture.desk("22:30").light(ofBottle: Self.red) == .off)
        // Who takes the setting back finds the light out.
        _ = try fixture.desk().set([("bottle.light", "false")])
        #expect(try fixture.desk("15:01").lightsDue() == [Self.red: .off])
        try desk.noteLight(.off, ofBottle: Self.red)
        #expect(try fixture.desk("15:02").lightsDue().isEmpty)
        // Under another name it is the same bottle, and of one that nobody knows nothing is remembered.
        _ = try fixture.desk().set([("bottle.light", "true"), ("bottle.alias", "kitchen")], ofBottle: Self.red)
        try desk.noteLight(.gentle, ofBottle: Self.red)
        #expect(try fixture.store.light(ofBottle: "kitchen") == .gentle)
        try desk.noteLight(.strong, ofBottle: "A4:C1:38:00:00:09")
        #expect(try fixture.store.bottles().count == 2)
    }
}
