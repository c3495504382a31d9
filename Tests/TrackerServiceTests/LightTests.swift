import Store
import Testing
import TrackerCore
import TrackerService

@Suite struct LightTests {
    private static let (red, blue) = ("A4:C1:38:00:00:01", "A4:C1:38:00:00:02")

    @Test func `each bottle receives a changed light once`() throws {
        let fixture = try TrackerFixture()
        _ = try fixture.tracker().adoptBottle(Self.red)
        _ = try fixture.tracker().adoptBottle(Self.blue)
        #expect(try fixture.tracker("15:00").lightsDue().isEmpty, "the setting is off")
        _ = try fixture.tracker().set([("bottle.light", "true")])
        _ = try fixture.tracker().set([("bottle.light", "false")], ofBottle: Self.blue)
        let tracker = try fixture.tracker("15:00")
        #expect(
            try tracker.lightsDue() == [Self.red: .strong] && tracker.light(ofBottle: Self.red) == .strong
                && tracker.light(ofBottle: Self.blue) == nil)
        try tracker.store.recordLight(.strong, ofBottle: Self.red)
        #expect(try tracker.lightsDue().isEmpty && tracker.light(ofBottle: Self.red) == nil)
        // At night no poll starts for the light; a lit bottle gets the request at the next poll.
        #expect(
            try fixture.tracker("22:30").lightsDue().isEmpty
                && fixture.tracker("22:30").light(ofBottle: Self.red) == .off)
        // With the setting off the light is off.
        _ = try fixture.tracker().set([("bottle.light", "false")])
        #expect(try fixture.tracker("15:01").lightsDue() == [Self.red: .off])
        try tracker.store.recordLight(.off, ofBottle: Self.red)
        #expect(try fixture.tracker("15:02").lightsDue().isEmpty)
        // The bottle is the same under another name. Nothing is stored for an unknown bottle.
        _ = try fixture.tracker().set([("bottle.light", "true"), ("bottle.alias", "kitchen")], ofBottle: Self.red)
        try tracker.store.recordLight(.gentle, ofBottle: Self.red)
        #expect(try fixture.store.light(ofBottle: "kitchen") == .gentle)
        try tracker.store.recordLight(.strong, ofBottle: "A4:C1:38:00:00:09")
        #expect(try fixture.store.bottles().count == 2)
    }
}
