import Bluetooth
import BlueZ
import Foundation
import Support
import Testing

/// Both links over a real bluetoothd, on two adapters. Runs in the test VM only (`hardware/machine/tests`).
@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment["BENCH_MACHINE"] != nil,
        "needs two adapters: runs inside hardware/bench vm"), .serialized, .timeLimit(.minutes(5)))
struct MachineLinkTests {
    static let application = GATTApplication(
        name: "WaterH-Link-Test", advertisedServices: [0xFF00],
        services: [
            LocalService(
                uuid: 0xFF00,
                characteristics: [
                    LocalCharacteristic(
                        uuid: 0xFF01, properties: [.write, .writeWithoutResponse], userDescription: "Command"),
                    LocalCharacteristic(uuid: 0xFF02, properties: [.read, .notify]),
                    LocalCharacteristic(uuid: 0xFF03, properties: [.write]),
                ]),
            LocalService(
                uuid: 0x180A,
                characteristics: [
                    LocalCharacteristic(uuid: 0x2A25, properties: [.read], constant: Array("A4C138".utf8))
                ]),
        ])

    @Test(arguments: [NotificationMethod.signals, .socket], [NotificationMethod.signals, .socket])
    func `a session over bluetoothd works with every notification method`(
        _ centralWay: NotificationMethod, _ peripheralWay: NotificationMethod
    ) async throws {
        let peripheral = BlueZPeripheralLink(adapter: "hci1", notifications: peripheralWay) {
            print("peripheral: \($0)")
        }
        let central = BlueZCentralLink(adapter: "hci0", notifications: centralWay) { print("central: \($0)") }
        let (peripheralEvents, centralEvents) = (
            Inbox(peripheral.events, limit: .seconds(60)), Inbox(central.events, limit: .seconds(60))
        )
        try await peripheral.open(Self.application)

        central.perform(.startScan)
        let peer = try await centralEvents.next { (event: CentralEvent) -> PeerID? in
            guard case .advertised(let found) = event, found.name == "WaterH-Link-Test", found.services.contains(0xFF00)
            else { return nil }
            return found.peer
        }
        central.perform(.connect(peer, limit: .seconds(20)))
        try await centralEvents.next { if case .connected(peer, _) = $0 { () } else { nil } }
        let centralID = try await peripheralEvents.next { if case .connected(let id) = $0 { id } else { nil } }
        central.perform(.discover)
        let services = try await centralEvents.next { if case .discovered(let services) = $0 { services } else { nil } }
        let characteristics = services.flatMap(\.characteristics)
        let command = try #require(characteristics.first { $0.uuid == 0xFF01 })
        let response = try #require(characteristics.first { $0.uuid == 0xFF02 })
        let serial = try #require(characteristics.first { $0.uuid == 0x2A25 })
        #expect(command.properties == [.write, .writeWithoutResponse] && response.properties == [.read, .notify])

        central.perform(.subscribe(handle: response.handle))
        try await centralEvents.next { if case .subscribed(response.handle) = $0 { () } else { nil } }
        try await peripheralEvents.next { if case .subscribed(centralID, 0xFF02) = $0 { () } else { nil } }

        // Writes arrive in order, with and without response.
        for number in 0..<20 {
            central.perform(.write(handle: command.handle, value: [UInt8(number)], withResponse: number % 5 == 4))
        }
        for number in 0..<20 {
            let token = try await peripheralEvents.next { (event: PeripheralEvent) -> UInt64?? in
                guard case .write(centralID, 0xFF01, [UInt8(number)], let token) = event else { return nil }
                return .some(token)
            }
            // bluetoothd responds automatically where a write without response is allowed (src/gatt-database.c,
            // chrc_write_cb).
            #expect(token == nil)
        }
        for _ in 0..<20 { try await centralEvents.next { if case .wrote(command.handle) = $0 { () } else { nil } } }

        // A long read causes one request of the application, and a constant value causes none.
        let long = (0..<400).map { UInt8(truncatingIfNeeded: $0) }
        central.perform(.read(handle: response.handle))
        let token = try await peripheralEvents.next {
            if case .read(centralID, 0xFF02, 0, let token) = $0 { token } else { nil }
        }
        peripheral.perform(.respond(token: token, .value(long)))
        #expect(
            try await centralEvents.next { if case .read(response.handle, let value) = $0 { value } else { nil } }
                == long)
        central.perform(.read(handle: serial.handle))
        #expect(
            try await centralEvents.next { if case .read(serial.handle, let value) = $0 { value } else { nil } }
                == Array("A4C138".utf8))

        // An error has its ATT code.
        let strict = try #require(characteristics.first { $0.uuid == 0xFF03 })
        central.perform(.write(handle: strict.handle, value: [1], withResponse: true))
        let rejected = try await peripheralEvents.next {
            if case .write(_, _, _, let token?) = $0 { token } else { nil }
        }
        peripheral.perform(.respond(token: rejected, .error(0x0D)))
        let error = try await centralEvents.next {
            if case .writeFailed(strict.handle, let error) = $0 { error } else { nil }
        }
        #expect(error.code == .refused && error.attError == 0x0D, "\(error.code): \(error)")

        // Notifications: all of them, in order, including equal ones.
        let count = 300
        let began = ContinuousClock.now
        let sending = Task {
            for number in 0..<count {
                peripheral.perform(
                    .notify(
                        0xFF02,
                        value: [UInt8((number / 2) >> 8), UInt8(truncatingIfNeeded: number / 2)]
                            + Array(repeating: 7, count: 18)))
                try await peripheralEvents.next { if case .notified(0xFF02) = $0 { () } else { nil } }
            }
        }
        var received: [Int] = []
        while received.count < count {
            received.append(
                try await centralEvents.next {
                    if case .notification(response.handle, let value) = $0 {
                        Int(value[0]) << 8 | Int(value[1])
                    } else {
                        nil
                    }
                })
        }
        try await sending.value
        #expect(received == (0..<count).map { $0 / 2 })
        print(
            """
            \(count) notifications of 20 bytes, central by \(centralWay), peripheral by \(peripheralWay): \
            \(began.duration(to: .now) / count) each
            """
        )

        central.perform(.disconnect)
        #expect(
            try await centralEvents.next { if case .disconnected(let error) = $0 { .some(error) } else { nil } }
                == LinkError?.none)
        try await peripheralEvents.next { if case .disconnected(centralID) = $0 { () } else { nil } }

        central.perform(.startScan)
        _ = try await centralEvents.next { if case .advertised(let found) = $0, found.peer == peer { () } else { nil } }
        central.perform(.clearCache(peer))
        _ = try await centralEvents.next { if case .recovered(let sentence) = $0 { print(sentence) } else { nil } }
        await central.close()
        await peripheral.close()
    }
}
