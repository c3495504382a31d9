package import Bluetooth

extension PeripheralProfile {
    /// Returns a unique UUID for an attribute in link events and requests, because its own UUID can occur several
    /// times.
    static func identifier(of handle: UInt16) -> BluetoothUUID { BluetoothUUID(high: 0, low: UInt64(handle)) }
    static func handle(of identifier: BluetoothUUID) -> UInt16 { UInt16(truncatingIfNeeded: identifier.low) }

    /// A substitute for an unknown UUID: `77617465-7268-HHHH-8000-676164676574`, where HHHH is the handle.
    package static func placeholder(at handle: UInt16) -> BluetoothUUID {
        BluetoothUUID(high: 0x7761_7465_7268_0000 | UInt64(handle), low: 0x8000_6761_6467_6574)
    }

    /// The services that a Bluetooth stack provides.
    package static let stackServices: Set<BluetoothUUID> = [GATTTable.genericAccess, GATTTable.genericAttribute]

    /// Returns the profile without the given services and their exchanges.
    package func excluding(_ uuids: Set<BluetoothUUID>) -> PeripheralProfile {
        var rest = self
        var removedHandles: Set<UInt16> = []
        rest.services.removeAll { service in
            guard let uuid = service.uuid, uuids.contains(uuid) else { return false }
            for characteristic in service.characteristics {
                removedHandles.insert(characteristic.handle)
                removedHandles.formUnion(characteristic.descriptors.map(\.handle))
            }
            return true
        }
        for index in rest.conversations.indices {
            rest.conversations[index].exchanges.removeAll { $0.handle.map(removedHandles.contains) ?? false }
        }
        return rest
    }

    /// Returns the application to publish, with notes for the user.
    package func application() -> (application: GATTApplication, remarks: [String]) {
        var remarks: [String] = []
        var application = GATTApplication(name: name ?? "", services: [])
        application.isCompleteTable = true
        application.maximumMTU = mtu ?? ATTPDU.defaultMTU
        application.advertisement = AdvertisingBytes(
            data: advertisement?.bytes ?? Self.plainAdvertisement(name), scanResponse: scanResponse?.bytes ?? [])
        for service in services {
            var local = LocalService(uuid: service.uuid ?? Self.placeholder(at: service.handle), characteristics: [])
            local.handle = service.handle
            local.end = service.end
            local.isPrimary = service.secondary != true
            local.includes = service.includes.map {
                LocalInclude(handle: $0.handle, start: $0.start, end: $0.end, uuid: $0.uuid)
            }
            for (index, characteristic) in service.characteristics.enumerated() {
                let next =
                    index + 1 < service.characteristics.count
                    ? Int(service.characteristics[index + 1].declaration) : Int(service.end) + 1
                local.characteristics.append(Self.local(characteristic, next: next, &remarks))
            }
            application.services.append(local)
        }
        return (application, remarks)
    }

    private static func local(_ characteristic: Characteristic, next: Int, _ remarks: inout [String])
        -> LocalCharacteristic
    {
        var local = LocalCharacteristic(
            uuid: characteristic.uuid ?? placeholder(at: characteristic.handle), properties: characteristic.properties,
            acceptsAnyWrite: true)
        local.id = identifier(of: characteristic.handle)
        local.declaration = characteristic.declaration
        local.handle = characteristic.handle
        local.acceptsAnyRead = true
        local.descriptors = characteristic.descriptors.map {
            LocalDescriptor(
                uuid: $0.uuid ?? placeholder(at: $0.handle), id: identifier(of: $0.handle), handle: $0.handle)
        }
        if characteristic.canBeSubscribed, characteristic.cccdHandle == nil {
            let free = Int(characteristic.descriptors.last?.handle ?? characteristic.handle) + 1
            if free < next, let handle = UInt16(exactly: free) {
                local.descriptors.append(
                    LocalDescriptor(uuid: GATTTable.cccd, id: identifier(of: handle), handle: handle))
                remarks.append(
                    """
                    the subscription of \(local.uuid) at \(characteristic.handle) is at \(handle), the first free \
                    handle: the capture does not show its handle
                    """
                )
            } else {
                remarks.append("\(local.uuid) at \(characteristic.handle) has no subscription: no free handle")
            }
        }
        return local
    }

    /// Advertising data with flags and the name, for a capture without an advertisement.
    private static func plainAdvertisement(_ name: String?) -> [UInt8] {
        var text = name ?? ""
        while text.utf8.count > 26 { text.removeLast() }
        return [2, 0x01, 0x06]
            + (text.isEmpty ? [] : [UInt8(1 + text.utf8.count), text == name ? 0x09 : 0x08] + Array(text.utf8))
    }
}
