import Bluetooth
import Emulator

/// The attributes of a peripheral: those discovered, and those that only reads, writes and notifications show.
struct ObservedTable {
    /// The use of an attribute in the capture.
    struct Use {
        var properties: CharacteristicProperties = []
        var value: [UInt8]?
        /// Whether every written value has the format of a subscription (a client characteristic configuration).
        var isSubscription = true
    }

    /// The characteristics by the handle of their declaration; also the keys of `includes` and `groups`.
    private var characteristics: [UInt16: PeripheralProfile.Characteristic] = [:]
    private var includes: [UInt16: PeripheralProfile.Include] = [:]
    private var groups: [UInt16: PeripheralProfile.Service] = [:]
    /// The types from Find Information, and from reads by type.
    var types: [UInt16: (uuid: BluetoothUUID, source: PeripheralProfile.Source)] = [:]
    var uses: [UInt16: Use] = [:]
    private var hasChanged = false

    mutating func add(_ attribute: DiscoveredAttribute, source: PeripheralProfile.Source) {
        switch attribute {
        case .characteristic(let declaration, let handle, let uuid, let properties)
        where declaration > 0 && handle > declaration:
            if let known = characteristics[declaration], known.uuid != uuid || known.handle != handle {
                hasChanged = true
            }
            characteristics[declaration] = PeripheralProfile.Characteristic(
                uuid: uuid, declaration: declaration, handle: handle, properties: properties, source: source)
        case .include(let handle, let range, let uuid) where handle > 0:
            includes[handle] = PeripheralProfile.Include(
                handle: handle, start: range.first, end: range.last, uuid: uuid)
        case .service(let range, let uuid, let isSecondary) where range.first > 0 && range.last >= range.first:
            if let known = groups[range.first], known.uuid != uuid { hasChanged = true }
            groups[range.first] = PeripheralProfile.Service(
                uuid: uuid, handle: range.first, end: range.last, secondary: isSecondary ? true : nil, source: source)
        case .attribute(let handle, let type) where handle > 0:
            if source == .discovered || types[handle] == nil { types[handle] = (type, source) }
        default: break
        }
    }

    /// The attributes in order, each handle once, and a message for each dropped or guessed one.
    func services() -> (services: [PeripheralProfile.Service], gaps: [String]) {
        var builder = TableBuilder(groups.values.sorted { $0.handle < $1.handle })
        if hasChanged {
            builder.gaps.insert("the GATT table changed in the capture: the last state of each handle is used", at: 0)
        }
        let handles = Set(groups.keys).union(includes.keys).union(characteristics.keys).union(types.keys)
            .union(uses.keys)
        for handle in handles.sorted() {
            if groups[handle] != nil {
                builder.addDiscoveredService()
            } else if let include = includes[handle] {
                builder.add(include)
            } else if var characteristic = characteristics[handle] {
                characteristic.value = uses[characteristic.handle]?.value.map { Octets($0) }
                builder.add(characteristic)
            } else {
                add(handle, to: &builder)
            }
        }
        return builder.finish()
    }

    /// Adds an attribute that is not a discovered service, include or characteristic.
    private func add(_ handle: UInt16, to builder: inout TableBuilder) {
        guard handle > 0, !builder.usedHandles.contains(handle) else { return }
        let use = uses[handle]
        if let (uuid, source) = types[handle] {
            if uuid.isDeclaration { return }
            if isValue(handle) {
                builder.addValue(uuid, at: handle, use)
            } else {
                builder.addDescriptor(uuid, source, at: handle, use)
            }
            return
        }
        // A declaration is directly before its value, so this handle is one.
        guard let use, !isValue(handle &+ 1) else { return }
        // A client characteristic configuration follows the value of a characteristic that can notify.
        let owner = builder.owner(of: handle)
        let isAfterNotifying = uses[handle &- 1]?.properties.isDisjoint(with: [.notify, .indicate]) == false
        if use.isSubscription, use.properties.contains(.write), isAfterNotifying || owner?.isNotifying == true,
            builder.addDescriptor(GATTTable.clientConfiguration, .seen, at: handle, use)
        {
            return
        }
        if owner?.isDiscovered == true {
            builder.addDescriptor(nil, .seen, at: handle, use)
        } else {
            builder.addValue(nil, at: handle, use)
        }
    }

    /// Whether an attribute of known type is a value: its declaration is known, or its type is not that of a
    /// descriptor (29xx).
    private func isValue(_ handle: UInt16) -> Bool {
        guard let (uuid, source) = types[handle], !uuid.isDeclaration else { return false }
        return types[handle &- 1]?.uuid == GATTTable.characteristic
            || source == .seen && uuid.short.map { !(0x2900...0x29FF).contains($0) } ?? true
    }
}

/// Arranges attributes in services. Attributes are added in the order of their handles.
private struct TableBuilder {
    var gaps: [String] = []
    private var services: [PeripheralProfile.Service] = []
    /// The discovered services that are not added yet.
    private var discovered: ArraySlice<PeripheralProfile.Service>
    private(set) var usedHandles: Set<UInt16> = []
    private var unplaced: [UInt16] = []

    init(_ discovered: [PeripheralProfile.Service]) {
        self.discovered = discovered[...]
        for (index, next) in discovered.enumerated().dropFirst() where discovered[index - 1].end >= next.handle {
            // An end of 65535 means the last attribute of the table, so no message is needed.
            if discovered[index - 1].end != .max {
                gaps.append(
                    """
                    the services at \(discovered[index - 1].handle) and \(next.handle) overlap: the first one ends \
                    before the second
                    """)
            }
            self.discovered[index - 1].end = next.handle - 1
        }
    }

    mutating func addDiscoveredService() { append(discovered.removeFirst()) }

    private mutating func append(_ service: PeripheralProfile.Service) {
        services.append(service)
        usedHandles.insert(service.handle)
    }

    mutating func add(_ include: PeripheralProfile.Include) {
        // Includes are before the first characteristic.
        guard let service = service(at: include.handle), services[service].characteristics.isEmpty else {
            return unplaced.append(include.handle)
        }
        usedHandles.insert(include.handle)
        services[service].includes.append(include)
    }

    mutating func add(_ characteristic: PeripheralProfile.Characteristic) {
        let handles = [characteristic.declaration, characteristic.handle]
        // Characteristics do not overlap.
        guard usedHandles.isDisjoint(with: handles), let service = serviceIndex(for: characteristic),
            characteristic.handle <= services[service].end,
            services[service].characteristics.last.map({ $0.handle < characteristic.declaration }) ?? true
        else { return unplaced.append(characteristic.handle) }
        usedHandles.formUnion(handles)
        services[service].characteristics.append(characteristic)
    }

    /// Adds a value without a discovered declaration. If the handle before it is used, adds a descriptor instead.
    mutating func addValue(_ uuid: BluetoothUUID?, at handle: UInt16, _ use: ObservedTable.Use?) {
        guard handle > 1 else { return unplaced.append(handle) }
        guard !usedHandles.contains(handle - 1) else {
            addDescriptor(uuid, .seen, at: handle, use)
            return
        }
        add(
            PeripheralProfile.Characteristic(
                uuid: uuid, declaration: handle - 1, handle: handle, properties: use?.properties ?? [], source: .seen,
                value: use?.value.map { Octets($0) }))
    }

    /// Adds a descriptor to the preceding characteristic. Returns `false` if there is none.
    @discardableResult
    mutating func addDescriptor(
        _ uuid: BluetoothUUID?, _ source: PeripheralProfile.Source, at handle: UInt16, _ use: ObservedTable.Use?
    ) -> Bool {
        guard let (service, index) = characteristic(before: handle) else {
            unplaced.append(handle)
            return false
        }
        usedHandles.insert(handle)
        let isUnsubscribable =
            services[service].characteristics[index].source == .seen
            && !services[service].characteristics[index].canBeSubscribed
        // A host wrote the descriptor, so the characteristic can notify, even without a notification in the capture.
        if uuid == GATTTable.clientConfiguration, isUnsubscribable {
            services[service].characteristics[index].properties.insert(.notify)
        }
        services[service].characteristics[index].descriptors.append(
            PeripheralProfile.Descriptor(
                uuid: uuid, handle: handle, source: source, value: use?.value.map { Octets($0) }))
        return true
    }

    /// The properties of the characteristic to which a descriptor with this handle would belong.
    func owner(of handle: UInt16) -> (isNotifying: Bool, isDiscovered: Bool)? {
        guard let (service, index) = characteristic(before: handle) else { return nil }
        let found = services[service].characteristics[index]
        return (
            found.canBeSubscribed && found.configuration == nil,
            found.source == .discovered && services[service].source == .discovered
        )
    }

    private func characteristic(before handle: UInt16) -> (service: Int, index: Int)? {
        guard let service = service(at: handle), let last = services[service].characteristics.last,
            last.handle < handle
        else { return nil }
        return (service, services[service].characteristics.count - 1)
    }

    private func service(at handle: UInt16) -> Int? {
        guard let last = services.last, last.handle < handle, handle <= last.end else { return nil }
        return services.count - 1
    }

    /// The index of a characteristic's service: a known one, or a new one for the unused handles around it.
    private mutating func serviceIndex(for characteristic: PeripheralProfile.Characteristic) -> Int? {
        if let known = service(at: characteristic.declaration) { return known }
        // Put the service declaration directly before, and the end before the next service.
        guard characteristic.declaration > 1 else { return nil }
        let start = characteristic.declaration - 1
        guard !usedHandles.contains(start), services.last.map({ $0.end < start }) ?? true else { return nil }
        append(
            PeripheralProfile.Service(
                uuid: nil, handle: start, end: discovered.first.map { $0.handle - 1 } ?? .max, source: .seen))
        return services.count - 1
    }

    func finish() -> (services: [PeripheralProfile.Service], gaps: [String]) {
        let omitted = Set(unplaced).subtracting(usedHandles).sorted()
        guard !omitted.isEmpty else { return (services, gaps) }
        let list = omitted.prefix(10).map(String.init).joined(separator: ", ")
        let more = omitted.count > 10 ? " and \(omitted.count - 10) more" : ""
        return (
            services,
            gaps + [
                "not in the profile, because no service fits: handle\(omitted.count == 1 ? "" : "s") \(list)\(more)"
            ]
        )
    }
}
