import DBus
import DBusSupport
import Foundation
import Store
import Support
import Testing
import TrackerCore
import TrackerDesk

@testable import Desktop

/// The day as an icon among status items, with one who draws such icons on a bus of its own.
@Suite(.timeLimit(.minutes(3))) struct TrayTests {
    private final class Rig: Sendable {
        let bus: PrivateBus
        let store: TrackerStore
        let clicks = Collected<TrayAction>()
        let lines = Collected<String>()

        init() async throws {
            bus = try await PrivateBus()
            store = try TrackerStore(inMemory: "Europe/Berlin")
        }

        func item(person: String? = nil) -> TrayItem {
            let (address, clicks, lines) = (bus.address, clicks, lines)
            return TrayItem(bus: { .address(address) }, person: person, log: { lines.add($0) }) { clicks.add($0) }
        }

        func desk(_ wall: String = "12:00") throws -> TrackerDesk {
            let zone = try Zone("Europe/Berlin")
            return try TrackerDesk(
                store, now: try Moment.parse("2026-06-15T\(wall)", now: nil, zone: zone),
                zone: ZoneChoice(named: zone.id, machine: .utc), source: "dbus")
        }

        func face(_ wall: String = "12:00") throws -> TrayFace? { try desk(wall).tray().face }
    }

    @Test func theRingTheWordsAndTheMenu() async throws {
        let rig = try await Rig()
        let watcher = try await FakeStatusNotifierWatcher(rig.bus)
        let item = rig.item()
        await item.show(try rig.face())
        let work = Task { await item.run() }
        let name = try #require(await watcher.registered.wait(for: 1).first)
        var all = try await watcher.properties(of: name)
        #expect(
            all["Id"]?.text == "waterh" && all["Category"]?.text == "ApplicationStatus"
                && all["Title"]?.text == "0.0L / 2.5L" && all["Menu"]?.text == "/MenuBar")
        // Nothing was drunk by noon: it asks to be looked at.
        #expect(all["Status"]?.text == "NeedsAttention" && all["ItemIsMenu"]?.bool == false)
        let pixmaps = try #require(all["IconPixmap"]?.elements)
        let widths: [Int?] = pixmaps.map { $0.elements?[0].integer }
        let bytes: [Int?] = pixmaps.map { $0.elements?[2].byteArray?.count }
        #expect(widths == [22, 44])
        #expect(bytes == [1936, 7744])
        let tip = try #require(all["ToolTip"]?.elements)
        #expect(tip.count == 4 && tip[2].text == "0.0L / 2.5L" && tip[3].text?.contains("to catch up") == true)
        let entries = try await watcher.entries(of: name)
        #expect(
            entries.map { $0.label }.filter { !$0.isEmpty }.dropFirst() == [
                "Log a cup (250 ml)", "+ 100 ml", "+ 250 ml", "+ 500 ml", "Undo", "Check now", "Open",
            ])
        #expect(entries[0].isEnabled == false && entries.filter { $0.label.isEmpty }.allSatisfy { !$0.isEnabled })

        for words in ["Log a cup", "+ 500 ml", "Check now", "Undo", "Open"] {
            try await watcher.click(try #require(try await watcher.entry(words, of: name)), of: name)
        }
        #expect(await rig.clicks.wait(for: 5) == [.ml(250), .ml(500), .check, .undo, .open])
        // A tap opens, the middle button logs a cup.
        for member in ["Activate", "SecondaryActivate", "ContextMenu"] {
            _ = try await watcher.call(name, TrayItem.path, TrayItem.interface, member, [.int32(3), .int32(4)])
        }
        #expect(await rig.clicks.wait(for: 7).suffix(2) == [.open, .ml(250)])

        // A drink closes the ring further, and a session brings lines of its own, in discreet words.
        _ = try rig.desk().logDrink(.ml(2000))
        _ = try rig.desk().startSession()
        await item.show(try rig.face("12:05"))
        for signal in ["NewTitle", "NewIcon", "NewToolTip", "NewStatus", "LayoutUpdated"] {
            #expect(await event { watcher.signals.items.contains(signal) ? true : nil } == true, "\(signal)")
        }
        all = try await watcher.properties(of: name)
        #expect(all["Title"]?.text == "2.0L / 2.5L" && all["Status"]?.text == "Active")
        #expect(
            try await watcher.entries(of: name).map { $0.label }.filter {
                ["Log Water", "Add one", "End Now"].contains($0)
            } == ["Log Water", "Add one", "End Now"])
        work.cancel()
        await work.value
        #expect(rig.lines.items == ["The day is an icon among the desktop's status items."])
    }

    /// Nobody draws icons, then somebody does, goes, and another comes: each is told once.
    @Test func whoDrawsIconsMayComeLaterAndGo() async throws {
        let rig = try await Rig()
        let item = rig.item()
        await item.show(try rig.face())
        let work = Task { await item.run() }
        for _ in 0..<3 {
            let watcher = try await FakeStatusNotifierWatcher(rig.bus)
            let name = try #require(await watcher.registered.wait(for: 1).first)
            #expect(try await watcher.properties(of: name)["Id"]?.text == "waterh")
            #expect(Set(watcher.registered.items).count == 1)
            await watcher.stop()
        }
        work.cancel()
        await work.value
    }

    /// Of two programs one shows it, and the other takes its place; of two people each has an icon.
    @Test func oneIconAPerson() async throws {
        let rig = try await Rig()
        let watcher = try await FakeStatusNotifierWatcher(rig.bus)
        let items = [rig.item(person: "Anna-B"), rig.item(person: "Anna-B"), rig.item(person: "ben")]
        for item in items { await item.show(try rig.face()) }
        let first = Task { await items[0].run() }
        let name = try #require(await watcher.registered.wait(for: 1).first)
        let second = Task { await items[1].run() }
        let third = Task { await items[2].run() }
        #expect(Set(await watcher.registered.wait(for: 2)).count == 2)
        #expect(try await rig.bus.run("busctl", ["list"]).output.contains("org.waterh.Tray.anna_b"))
        first.cancel()
        await first.value
        let all = await watcher.registered.wait(for: 3)
        #expect(Set(all).count == 3 && all[0] == name)
        for work in [second, third] { work.cancel() }
        for work in [second, third] { await work.value }
        #expect(watcher.registered.items.count == 3)
    }

    /// The setting takes the icon away, and brings it back.
    @Test func theSettingTakesItAway() async throws {
        let rig = try await Rig()
        let watcher = try await FakeStatusNotifierWatcher(rig.bus)
        let item = rig.item()
        await item.show(try rig.face())
        let work = Task { await item.run() }
        let name = try #require(await watcher.registered.wait(for: 1).first)
        _ = try rig.desk().set([("notify.tray", "false")])
        #expect(try rig.face() == nil)
        await item.show(try rig.face())
        #expect(await event { (try? await watcher.properties(of: name)) == nil ? true : nil } == true)
        _ = try rig.desk().set([("notify.tray", "true")])
        await item.show(try rig.face())
        #expect(await watcher.registered.wait(for: 2).count == 2)
        work.cancel()
        await work.value
    }

    /// Numbers that are none of the menu's, events that are no click, and one who refuses: words, and nothing is done.
    @Test func whatIsNoClickDoesNothing() async throws {
        let rig = try await Rig()
        let watcher = try await FakeStatusNotifierWatcher(rig.bus, refuses: true)
        let item = rig.item()
        await item.show(try rig.face())
        let work = Task { await item.run() }
        let name = try #require(await watcher.registered.wait(for: 1).first)
        #expect(await rig.lines.wait(for: 1).first?.contains("no more items") == true)
        func ask(_ member: String, _ arguments: [DBusValue]) async throws -> [DBusValue] {
            try await watcher.call(name, TrayMenu.path, TrayMenu.interface, member, arguments)
        }
        func happening(_ id: Int32, _ what: String) -> [DBusValue] {
            [.int32(id), .string(what), .variant(.int32(0)), .uint32(0)]
        }
        for id in [-1, 777, .max, .min] as [Int32] {
            await #expect(throws: DBusFailure.self) { try await ask("Event", happening(id, "clicked")) }
            await #expect(throws: DBusFailure.self) {
                try await ask("GetLayout", [.int32(id), .int32(-1), .strings([])])
            }
            await #expect(throws: DBusFailure.self) { try await ask("AboutToShow", [.int32(id)]) }
        }
        // Hovered, opened, a line of words, a line between.
        for (id, what) in [(10, "hovered"), (0, "opened"), (0, "clicked"), (1, "clicked"), (2, "clicked")]
            as [(Int32, String)]
        { #expect(try await ask("Event", happening(id, what)).isEmpty) }
        let group = DBusValue.array(
            .structure([.int32, .string, .variant, .uint32]),
            [.structure(happening(53, "clicked")), .structure(happening(99, "clicked"))])
        #expect(try await ask("EventGroup", [group]).first?.elements?.map(\.integer) == [99])
        #expect(await rig.clicks.wait(for: 1) == [.open])
        #expect(try await ask("GetProperty", [.int32(53), .string("label")]).first?.text == "Open")
        #expect(
            try await ask("GetGroupProperties", [.array(.int32, [.int32(53), .int32(99)]), .strings(["label"])]).first?
                .elements?.count == 1)
        await #expect(throws: DBusFailure.self) { try await ask("GetProperty", [.int32(53), .string("nothing")]) }
        work.cancel()
        await work.value
        #expect(rig.clicks.items == [.open])
    }

    @Test(arguments: [(0.0, 0), (0.25, 25), (0.5, 50), (1.0, 100)]) func theRingIsAsFarClosed(
        progress: Double, percent: Int
    ) {
        let pixels = TrayRing(progress: progress, urgency: .onTrack).pixels(44)
        #expect(pixels.count == 44 * 44 * 4)
        // Of what is drawn, so much has the colour of the day and not that of the track: blue is 0xF5.
        var (done, drawn) = (0.0, 0.0)
        for start in stride(from: 0, to: pixels.count, by: 4) where pixels[start] > 0 {
            drawn += 1
            if pixels[start + 3] > 0xE0 { done += 1 }
        }
        #expect(drawn > 0 && abs(done / drawn * 100 - Double(percent)) < 6, "\(done) of \(drawn)")
        // Corners and middle stay empty; late, there is a point in the middle.
        let (corner, middle) = (0, (22 * 44 + 22) * 4)
        #expect(pixels[corner] == 0 && pixels[middle] == 0)
        let late = TrayRing(progress: progress, urgency: .overdue).pixels(44)
        #expect(Array(late[middle..<middle + 4]) == [0xFF, 0xE5, 0x39, 0x35])
    }

    /// What an agent is told of it by the service comes out as it went in.
    @Test func theFaceTravels() async throws {
        let rig = try await Rig()
        _ = try rig.desk().startSession()
        let face = try #require(try rig.face())
        let text = try TrackerDesk.json(face)
        #expect(try JSONDecoder().decode(TrayFace.self, from: Data(text.utf8)) == face)
        #expect(throws: (any Error).self) {
            try JSONDecoder().decode(TrayFace.self, from: Data(text.replacing("\"check\"", with: "\"reboot\"").utf8))
        }
    }
}
