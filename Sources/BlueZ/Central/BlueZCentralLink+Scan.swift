import Bluetooth
import DBus

extension BlueZCentralLink {
    private static let limit = Duration.seconds(10)

    /// The scan filter: LE only, with duplicates, so that a known device is reported again.
    ///
    /// The pattern matches every device: if any client of bluetoothd sets a pattern, all clients see only devices that
    /// match one of the patterns (BlueZ 5.66–5.87 src/adapter.c, device_is_discoverable).
    private static let scanFilter: [String: DBusValue] = [
        "Transport": .string("le"), "DuplicateData": .boolean(true), "Pattern": .string(""),
    ]

    func startScan() async {
        do throws(LinkError) {
            let adapter = try await poweredAdapter()
            reported = [:]
            isScanning = true
            _ = try await service.call(
                adapter, BlueZName.adapter, "SetDiscoveryFilter", [.properties(Self.scanFilter)], limit: Self.limit,
                "Cannot set the scan filter")
            guard isScanning else { return }
            do throws(LinkError) {
                _ = try await service.call(
                    adapter, BlueZName.adapter, "StartDiscovery", limit: Self.limit, "Cannot start the scan")
            } catch {
                // `inProgress` means that the previous scan of this process is still active.
                guard error.code == .inProgress else { throw error }
            }
            guard isScanning else { return await stopDiscovery() }
            // Report devices that another scan sees, and connected ones, which do not advertise.
            for path in objects({ $0.paths(having: BlueZName.device, below: adapter) }) {
                let isSeen = deviceProperty(path, "RSSI") != nil || deviceProperty(path, "Connected")?.bool == true
                if isSeen { reportAdvertiser(path, isNew: true) }
            }
        } catch {
            isScanning = false
            emit(.scanFailed(error))
        }
    }

    func stopScan() async {
        guard isScanning else { return }
        isScanning = false
        await stopDiscovery()
    }

    private func stopDiscovery() async {
        guard let adapter else { return }
        do throws(LinkError) {
            _ = try await service.call(
                adapter, BlueZName.adapter, "StopDiscovery", limit: Self.limit, "Cannot stop the scan")
        } catch {
            // BlueZ replies "No discovery started" if the scan has already ended.
            if error.code != .system { log(error.description) }
        }
    }

    func reportAdvertiser(_ path: String, isNew: Bool) {
        guard isScanning, isNew, let adapter, path.hasPrefix(adapter + "/"), eventQueue.count < Self.eventLimit else {
            return
        }
        let properties = objects { $0[path, BlueZName.device] } ?? [:]
        guard let text = properties["Address"]?.text, let address = BluetoothAddress(text) else { return }
        let rssi = properties["RSSI"]?.integer
        var advertisement = Advertisement(
            peer: PeerID(address.description), address: address, name: properties["Name"]?.text,
            services: (properties["UUIDs"]?.strings ?? []).compactMap(BluetoothUUID.init),
            rssi: rssi == 127 ? nil : rssi)  // 127: not known (Core 5.4, Vol 4 Part E, 7.7.65.2).
        // A random address is static if its two highest bits are set, else it changes (Core 5.4, Vol 6 Part B, 1.3.2).
        advertisement.isAddressPrivate = properties["AddressType"]?.text == "random" && address.value >> 46 != 0b11
        guard reported[path] != advertisement, reported[path] != nil || reported.count < Self.reportedLimit else {
            return
        }
        reported[path] = advertisement
        emit(.advertised(advertisement))
    }

    func clearCache(_ peer: PeerID) async {
        do throws(LinkError) {
            let adapter = try await poweredAdapter()
            guard let device = objects({ $0.device(address: peer.text, on: adapter) }) else {
                return emit(.recovered("bluetoothd has no data about \(peer)"))
            }
            // RemoveDevice would end a connection that belongs to another program.
            guard session?.device == device && session?.isShared == false || !isHeldByOthers(device, peer) else {
                return emit(
                    .recovered(
                        """
                        another program on this machine holds the connection to \(peer), so bluetoothd keeps \
                        its data
                        """
                    ))
            }
            if device == session?.device { session?.isEnding = true }
            removing[device] = false
            defer { removing[device] = nil }
            _ = try await service.call(
                adapter, BlueZName.adapter, "RemoveDevice", [.objectPath(device)], limit: Self.limit,
                "Removing \(peer) from bluetoothd failed")
            // BlueZ takes about 3 s to remove a connected device.
            let isRemoved = await wait(limit: Self.limit) { central in
                central.removing[device] != false || central.objects { $0[device, BlueZName.device] == nil }
            }
            emit(
                .recovered(
                    isRemoved
                        ? "bluetoothd removed \(peer)"
                        : "bluetoothd did not remove \(peer) within 10 s"))
        } catch {
            emit(.recovered(error.description))
        }
    }

    func powerCycle() async {
        do throws(LinkError) {
            do throws(LinkError) {
                _ = try await poweredAdapter()
            } catch {
                // If the adapter is off, only switch it on.
                guard error.code == .poweredOff else { throw error }
            }
            guard let adapter = objects({ [adapterName] in $0.adapter(named: adapterName) }) else {
                return emit(.recovered("no adapter to switch off and on"))
            }
            let wasOn = isPowered(adapter)
            for on in wasOn ? [false, true] : [true] {
                try await service.setProperty(
                    adapter, BlueZName.adapter, "Powered", .boolean(on), limit: Self.limit,
                    "Switching the adapter \(on ? "on" : "off") failed")
                guard await wait(limit: Self.limit, until: { $0.isPowered(adapter) == on }) else {
                    return emit(.recovered("the adapter did not switch \(on ? "on" : "off") within 10 s"))
                }
            }
            emit(.recovered(wasOn ? "the adapter was switched off and on" : "the adapter was switched on"))
        } catch {
            emit(.recovered(error.description))
        }
    }
}
