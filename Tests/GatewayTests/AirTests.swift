import BottleProtocol
import Bluetooth
import Gateway
import GatewaySupport
import Testing
import TrackerCore

/// A bottle among other devices.
private struct Air: ScriptedPeer {
    var bottle = ScriptedBottle(records: drinks(4))
    var others: [Advertisement] = []
    /// Answers a request instead of the bottle.
    var instead: (CentralRequest, inout Self) -> DelayedEvents? = { _, _ in nil }
    var discoveries = 0

    init() {
        bottle.advertisement = advertisement("A4:C1:38:00:00:01")
        bottle.snapshot = boostSnapshot()
    }

    mutating func handle(_ request: CentralRequest, at now: MonotonicInstant) -> DelayedEvents {
        if case .discover = request { discoveries += 1 }
        if let answer = instead(request, &self) { return answer }
        let scanned =
            request == .startScan ? others.map { (Duration.milliseconds(1), CentralEvent.advertised($0)) } : []
        return scanned + bottle.handle(request, at: now)
    }
}

@Suite struct AirTests {
    private func other(_ number: UInt64, _ name: String?) -> Advertisement {
        Advertisement(peer: PeerID("other \(number)"), address: BluetoothAddress(number), name: name)
    }

    /// The most frequent failure of a hardware session: three scans of 10 s do not fit into a poll of 30 s.
    @Test func `a failed scan reports the wanted bottle and the devices found`() throws {
        var air = Air()
        air.bottle.isSilent = true
        air.others = [other(1, "Kettle\u{1B}[2J"), other(2, nil), other(3, "Lamp"), other(4, "WaterH-Other")]
        let report = try polled(air, options: options { $0.bottle = "WaterH-Mine" }, hasRadio: true).report
        let failure = try #require(report.failure)
        #expect(failure.kind == .notFound)
        #expect(
            failure.sentence
                == """
                Could not find bottle. Make sure it's nearby. (scanned for WaterH-Mine on unix:test.sock for 30 s; \
                devices found: WaterH-Other (other 4), Lamp, 2 more)
                """
        )
        #expect(
            failure.code == "notFound" && failure.values["linkError"] == "not-found"
                && failure.values["link"] == "unix:test.sock")
    }

    @Test(arguments: [-63, nil]) func `the report contains the signal strength`(rssi: Int?) throws {
        var air = Air()
        air.bottle.advertisement.rssi = rssi
        let report = try polled(air, hasRadio: true).report
        #expect(report.failure == nil && report.rssi == rssi)
    }

    @Test func `an empty scan is reported`() throws {
        var air = Air()
        air.bottle.isSilent = true
        air.instead = { request, _ in
            request == .startScan
                ? [(.milliseconds(1), .warning("Another program on this machine scans with hci0 too."))] : nil
        }
        let failure = try #require(try polled(air, hasRadio: true).report.failure)
        #expect(
            failure.sentence.contains("scanned for a WaterH bottle")
                && failure.sentence.contains("no other device was found; Another program"))
    }

    /// BlueZ's cached attribute table of a bottle after a firmware update is empty until the device is removed.
    @Test func `a device with an empty attribute table is removed and discovered again`() throws {
        var air = Air()
        air.instead = { request, air in
            guard case .discover = request, air.discoveries < 2 else { return nil }
            return [(.milliseconds(1), .discovered([]))]
        }
        let (rig, report) = try polled(air, hasRadio: true)
        #expect(report.failure == nil && report.new == 4, "\(String(describing: report.failure))")
        #expect(report.recovery.map(\.action) == [.forget])
        #expect(rig.peer.discoveries == 2)
    }

    @Test func `a device without services is reported as not a bottle`() throws {
        var air = Air()
        air.instead = { request, _ in
            guard case .discover = request else { return nil }
            return [(.milliseconds(1), .discovered([]))]
        }
        let (rig, report) = try polled(air, options: options { $0.bottle = "A4:C1:38:00:00:01" }, hasRadio: true)
        #expect(
            report.failure?.kind == .unexpectedResponse
                && report.failure?.sentence.contains("is not a WaterH bottle") == true)
        #expect(rig.peer.discoveries == 2)
    }

    /// The button's report arrives seconds after the first answer; nil: it is not pressed.
    @Test(arguments: [(RegistrationCode.confirmed, 12), (.failed, 12), (nil as RegistrationCode?, 0), (.confirmed, 0)])
    func `a registration waits for the button`(_ code: RegistrationCode?, _ seconds: Int) throws {
        var air = Air()
        air.instead = { request, _ in
            guard case .write(let handle, let value, _) = request, HostCommand(decoding: value) == .register else {
                return nil
            }
            let asks = Frame(.response, [Entry(.registration, [RegistrationCode.pressButton.rawValue])]).encoded
            var events: DelayedEvents = [
                (.milliseconds(1), .wrote(handle: handle)),
                (.milliseconds(2), .notification(handle: ScriptedBottle.responseHandle, value: asks)),
            ]
            if let code {
                let report = Frame(.report, [Entry(.registration, [code.rawValue])]).encoded
                events.append(
                    (
                        .seconds(seconds) + .milliseconds(5),
                        .notification(handle: ScriptedBottle.responseHandle, value: report)
                    ))
            }
            return events
        }
        let (rig, report) = try polled(
            air,
            options: options {
                $0.job = .send([.register]); $0.limits.poll += $0.limits.button
            }, hasRadio: true)
        let response = try #require(report.responses.first?.frame)
        let entries = try response.entries()
        #expect(entries.first?.byte == (code ?? .pressButton).rawValue)
        #expect(rig.diagnostics.contains { $0.sentence.contains("Press the button") })
        #expect(report.duration < .seconds(code == nil ? 35 : 15) && report.failure == nil)
        #expect(rig.written == [.register], "registration is requested once")
    }
}
