import BottleProtocol
import Bluetooth
import Testing
import Emulator

@Suite struct BehaviourTests {
    static let reminder = ReminderSetting(
        mode: 1, wakeHour: 7, wakeMinute: 30, sleepHour: 22, sleepMinute: 0, intervalMinutes: 45)
    static let clock = BottleClock(yearByte: 26, month: 11, day: 21, hour: 13, minute: 14, second: 15)

    static let answers: [(HostCommand, [String])] = [
        (.goal(ml: 2000), ["52 50 00 04 03 05 07 D0"]),
        (.reminder(.standard), ["52 50 00 08 07 26 00 08 00 14 00 3C"]),
        (.clock(clock), ["52 50 00 03 02 03 00"]),
        (.clock(BottleClock(yearByte: 26, month: 13, day: 1, hour: 0, minute: 0, second: 0)), ["52 50 00 03 02 03 01"]),
        (
            .settings(goalMl: 2000, clock: clock, reminder: reminder),
            ["52 50 00 0F 03 05 07 D0 02 03 00 07 26 01 07 1E 16 00 2D"]
        ),
        (.register, ["52 50 00 03 02 1C 02"]),
        (.clearLog, ["52 50 00 03 02 1C 06"]),
        // The log is empty.
        (.drinkLog, ["52 50 00 03 02 06 00"]),
        (.amount(ml: 700), []), (.flash, []), (.language(1), []), (.leaveFactoryMode, []),
        (.light(ReminderLight(mode: 3, red: 1, green: 2, blue: 3)), []),
        (.get(.battery), ["52 50 00 03 02 02 61"]), (.get(.goal), ["52 50 00 04 03 05 09 C4"]),
        (.get(EntryType(0x77)), []),
        (.unknown(hex("50 54 00 09 02")), []), (.unknown([]), []), (.unknown([0xFF]), []),
        (.put([Entry(.goal, [1])]), []),
    ]

    @Test(arguments: answers)
    func `each command has the specified response bytes`(_ command: HostCommand, _ expected: [String]) throws {
        var bench = try Bench().connected()
        #expect(bench.write(command) == expected.map(hex))
    }

    @Test(arguments: BottleModel.allCases)
    func `the snapshot contains the settings`(_ model: BottleModel) throws {
        var bench = try Bench(BottleIdentity(model: model)).connected()
        bench.write(.settings(goalMl: 1800, clock: Self.clock, reminder: Self.reminder))
        bench.write(.amount(ml: 640))
        bench.control(.battery(percent: 55))
        bench.control(.charging(true))
        let value = try #require(bench.write(.snapshot).first)
        #expect(value.count == (model == .boost ? 43 : 53))
        let snapshot = try Snapshot(decoding: Frame(decoding: value))
        #expect(
            snapshot.model == model && snapshot.goalMl == 1800 && snapshot.amountMl == 640
                && snapshot.batteryPercent == 55)
        #expect(snapshot.clock == Self.clock && snapshot.reminder == Self.reminder && snapshot.charging == .charging)
        if model == .vita { #expect(snapshot.levelMl == 530 && snapshot.tdsPpm == 120 && snapshot.temperatureC == 21) }
    }

    @Test func `a drink is reported at once, also during a log transfer`() throws {
        var bench = try Bench(BottleIdentity(model: .vita)).connected(sips: Array(1...20))
        bench.notified = []
        bench.control(.sip(ml: 30))
        #expect(
            bench.notified == [
                hex("52 54 00 04 03 08 01 22"), hex("52 54 00 04 03 28 00 78"), hex("52 54 00 03 02 01 15"),
            ])
        bench.takesNotifications = false
        bench.write(.drinkLog)
        bench.link(.notified(BluetoothUUID(0xFFE4)))
        bench.control(.sip(ml: 5))
        bench.takesNotifications = true
        bench.link(.notified(BluetoothUUID(0xFFE4)))
        let operations = bench.notified.map { $0.prefix(2) == [0x52, 0x54] }
        #expect(operations == [false, false, true, true, true, false, false])
    }

    @Test func `today's amount grows with drinks and restarts at midnight`() throws {
        var bench = try Bench()
        bench.sip([100, 50])
        #expect(bench.status.amountMl == 150 && bench.status.flash.levelMl == 380)
        bench.wait(.seconds(12 * 3600))
        #expect(bench.status.amountMl == 0)
        bench.control(.refill)
        bench.control(.sip(ml: 40))
        #expect(bench.status.amountMl == 40 && bench.status.flash.levelMl == 490)
    }

    @Test func `registration is confirmed by the button and fails without it`() throws {
        var bench = try Bench().connected()
        bench.write(.register)
        bench.notified = []
        bench.control(.press)
        #expect(bench.notified == [hex("52 54 00 03 02 1C 03")] && bench.status.flash.isRegistered)
        bench.write(.register)
        bench.notified = []
        bench.wait(.seconds(31))
        #expect(bench.notified == [hex("52 54 00 03 02 1C 04")])
    }

    @Test(arguments: [(HostCommand.recalibrateFull, "A1", 530), (.recalibrateEmpty, "A6", 0)])
    func `recalibration reports its result`(_ command: HostCommand, _ type: String, _ level: Int) throws {
        var bench = try Bench().connected()
        bench.write(command)
        bench.wait(.seconds(2))
        #expect(bench.notified == [hex("52 54 00 03 02 \(type) 01")] && bench.status.flash.levelMl == level)
    }

    // MARK: Connection

    @Test func `a second central is disconnected while one is connected`() throws {
        var bench = try Bench().connected()
        #expect(bench.effects.contains(.link(.advertise(false))))
        let second = CentralID("central 2")
        bench.link(.connected(second))
        #expect(bench.effects.contains(.link(.disconnect(second))))
        bench.link(.write(second, 0xFFE9, value: HostCommand.clearLog.encoded, token: 9))
        #expect(bench.effects.contains(.link(.respond(token: 9, .error(0x03)))))
        #expect(bench.status.central == Bench.central && !bench.effects.contains(.link(.advertise(true))))
        bench.disconnect()
        #expect(bench.effects.contains(.link(.advertise(true))) && bench.status.central == nil)
    }

    @Test(arguments: ["01", "01 00", "FF"], BottleProfile.allCases)
    func `forbidden writes to the response characteristic disconnect`(_ bytes: String, _ profile: BottleProfile) throws
    {
        for (withResponse, shown) in [(false, OfferedProfiles.both), (true, profile == .draft ? .draft : .retail)] {
            var bench = try Bench(BottleIdentity(profile: shown)).connected()
            bench.write(hex(bytes), to: profile.responseCharacteristic, withResponse: withResponse)
            #expect(bench.status.central == nil && bench.effects.contains(.link(.disconnect(Bench.central))))
        }
    }

    @Test func `other writes to the response characteristic are rejected`() throws {
        var bench = try Bench().connected()
        bench.write([0x02], to: 0xFFE4, withResponse: true)
        #expect(bench.effects.contains(.link(.respond(token: 1, .error(0x03)))) && bench.status.central != nil)
    }

    @Test func `responses are sent only after a subscription`() throws {
        var bench = try Bench().connected(subscribe: false)
        #expect(bench.write(.snapshot).isEmpty)
        bench.link(.subscribed(Bench.central, 0xFFE4))
        #expect(bench.write(.snapshot).count == 1)
        bench.link(.unsubscribed(Bench.central, 0xFFE4))
        #expect(bench.write(.snapshot).isEmpty)
    }

    @Test(arguments: OfferedProfiles.allCases)
    func `the GATT table matches the profile`(_ shown: OfferedProfiles) throws {
        let bench = try Bench(BottleIdentity(profile: shown, name: "WaterH-Test"))
        let application = bench.machine.application
        let all = application.services.flatMap(\.characteristics)
        #expect(
            application.name == "WaterH-Test" && application.advertisedServices == (shown == .retail ? [] : [0xFF00]))
        #expect(all.first { $0.uuid == 0x2A25 }?.constant == Array(bench.machine.identity.address.description.utf8))
        for profile in BottleProfile.allCases {
            let command = all.filter { $0.uuid == BluetoothUUID(profile.commandCharacteristic) }
            let response = all.filter { $0.uuid == BluetoothUUID(profile.responseCharacteristic) }
            guard shown.profiles.contains(profile) else {
                #expect(command.isEmpty && response.isEmpty)
                continue
            }
            #expect(
                command.map(\.properties) == [
                    profile == .draft ? [.write, .writeWithoutResponse] : [.writeWithoutResponse]
                ])
            #expect(response.map(\.properties) == [profile == .draft ? [.read, .notify] : [.notify]])
        }
        #expect(
            application.services.contains { $0.uuid.fullDescription == "00010203-0405-0607-0809-0A0B0C0D1912" }
                == (shown != .draft))
    }

    @Test func `both profiles can be served at once`() throws {
        var bench = try Bench(BottleIdentity(profile: .both)).connected(sips: [1, 2], subscribe: false)
        bench.write([0x01], to: 0xFF01)
        bench.profile = .draft
        guard case .value(let packet)? = bench.read() else { Issue.record("no value"); return }
        #expect(originalAppRecords(packet).map(\.amountMl) == [1, 2])
        bench.profile = .retail
        bench.link(.subscribed(Bench.central, 0xFFE4))
        let log = bench.write(.drinkLog)
        #expect(log.map { Array($0.prefix(2)) } == [Array("RP".utf8), Array("PT".utf8)])
        bench.link(.subscribed(Bench.central, 0xFF02))
        bench.effects = []
        bench.control(.sip(ml: 3))
        let outlets = bench.effects.compactMap { if case .link(.notify(let uuid, _)) = $0 { uuid } else { nil } }
        #expect(Set(outlets) == [0xFF02, 0xFFE4])
        bench.write(.drinkLog)
        bench.write(.acknowledge(bytes: 39))
        #expect(bench.status.flash.records.count == 0)
    }

    @Test func `bottle names and addresses have defaults`() {
        #expect(BottleIdentity().name == "WaterH-Boost-24oz" && BottleIdentity(model: .vita).name == "WaterH-Bottle-1")
        let address = BottleIdentity().address.description
        #expect(address.hasPrefix("A4:C1:38:") && address == BottleIdentity(model: .boost).address.description)
        // Permanent, because stores identify the bottle by it.
        #expect(address == "A4:C1:38:31:D1:D2" && BottleIdentity(name: "Other").address != BottleIdentity().address)
    }

    // MARK: Clock

    @Test func `the clock runs, drifts and can be set`() throws {
        var bench = try Bench(faults: "drift=1000,step=3600")
        bench.wait(.seconds(10_000))
        #expect(bench.status.clock.description == "2026-11-21T14:46:50")
        bench.connect()
        #expect(bench.status.clock.description == "2026-11-21T15:46:50")
        bench.write(.clock(Self.clock))
        #expect(bench.status.clock == Self.clock)
    }

    @Test func `the clock restarts at zero after a power loss`() throws {
        var bench = try Bench()
        bench.control(.powerLoss)
        bench.wait(.seconds(61))
        bench.control(.sip(ml: 40))
        bench.connect()
        let record = try #require(bench.poll().first)
        #expect(record.isSuspect && record.raw.prefix(6) == [0, 0, 0, 0, 1, 1])
        bench.write(.clock(Self.clock))
        bench.control(.sip(ml: 41))
        #expect(bench.poll().first?.isSuspect == false)
    }

    @Test func `the power fault acts when the connection ends`() throws {
        var bench = try Bench(faults: "power=1").connected()
        bench.disconnect()
        #expect(bench.status.clock.month == 0)
    }

    // MARK: Flash

    @Test func `the flash keeps log, settings and clock over a restart`() throws {
        var bench = try Bench().connected(sips: [1, 2, 3])
        bench.write(.settings(goalMl: 1234, clock: Self.clock, reminder: Self.reminder))
        bench.write(.drinkLog)
        bench.write(.acknowledge(bytes: 13))
        let later = LocalTime(milliseconds: Bench.noon.milliseconds + 3_600_000)
        var restarted = try Bench(flash: bench.saved, hostTime: later)
        #expect(restarted.status.flash.goalMl == 1234 && restarted.status.flash.reminder == Self.reminder.encoded)
        #expect(restarted.status.clock.description == "2026-11-21T14:11:15")
        restarted.connect()
        #expect(restarted.poll().map(\.amountMl) == [2, 3])
    }

    @Test func `a clock that lost its date has no date after a restart`() throws {
        var bench = try Bench()
        bench.control(.powerLoss)
        bench.wait(.seconds(10))
        bench.sip([1])
        let restarted = try Bench(
            flash: bench.saved, hostTime: LocalTime(milliseconds: Bench.noon.milliseconds + 3_600_000))
        #expect(restarted.status.clock == BottleClock(yearByte: 0, month: 0, day: 0, hour: 1, minute: 0, second: 0))
    }

    @Test func `the flash is saved before any dependent response`() throws {
        var bench = try Bench(BottleIdentity(profile: .draft)).connected(sips: [1])
        bench.write([1])
        for body in [
            { $0.write(HostCommand.acknowledge(bytes: 13).encoded, withResponse: true) },
            {
                $0.control(.sip(ml: 1)); return []
            },
        ]
            as [(inout Bench) -> [[UInt8]]]
        {
            bench.effects = []
            _ = body(&bench)
            let save = bench.effects.firstIndex { if case .save = $0 { true } else { false } }
            #expect(save == 0, "\(bench.effects)")
            #expect(bench.saved == bench.machine.flash)
        }
    }

    // MARK: Hands

    @Test func `impossible requests are rejected with a reason`() throws {
        var bench = try Bench()
        for action in [ControlAction.sip(ml: -1), .sip(ml: 70_000), .battery(percent: 101), .drop] {
            guard case .refused(let why)? = bench.control(action) else { Issue.record("\(action) was done"); continue }
            #expect(why.hasSuffix("."))
        }
        bench.connect()
        #expect(bench.control(.drop) != nil && bench.status.central == nil)
    }
}
