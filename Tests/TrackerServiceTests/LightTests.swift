import Store
import Testing
import TrackerCore
import TrackerService

@Suite struct LightTests {
    private static let (red, blue) = ("A4:C1:38:00:00:01", "A4:C1:38:00:00:02")

    @Test func `each bottle receives a changed value once`() throws {
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
        // At night no poll starts for the light; a lit bottle gets the request at the next poll.
        #expect(
            try fixture.desk("22:30").lightsDue().isEmpty && fixture.desk("22:30").light(ofBottle: Self.red) == .off)
        // With the setting off the light is off.
        _ = try fixture.desk().set([("bottle.light", "false")])
        #expect(try fixture.desk("15:01").lightsDue() == [Self.red: .off])
        try desk.noteLight(.off, ofBottle: Self.red)
        #expect(try fixture.desk("15:02").lightsDue().isEmpty)
        // The bottle is the same under another name. Nothing is stored for an unknown bottle.
        _ = try fixture.desk().set([("bottle.light", "true"), ("bottle.alias", "kitchen")], ofBottle: Self.red)
        try desk.noteLight(.gentle, ofBottle: Self.red)
        #expect(try fixture.store.light(ofBottle: "kitchen") == .gentle)
        try desk.noteLight(.strong, ofBottle: "A4:C1:38:00:00:09")
        #expect(try fixture.store.bottles().count == 2)
    }
}
