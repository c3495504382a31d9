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
            } else if handle > 0, !builder.usedHandles.contains(handle) {
                addUndeclared(handle, to: &builder)
            }
        }
        return builder.finish()
    }

    /// Adds an attribute that is not a discovered service, include or characteristic.
    private func addUndeclared(_ handle: UInt16, to builder: inout TableBuilder) {
        let known = types[handle], use = uses[handle]
        if known?.uuid.isDeclaration == true { return }
        let value = use?.value.map { Octets($0) }
        let owner = builder.owner(of: handle)
        var descriptor = PeripheralProfile.Descriptor(
            uuid: known?.uuid, handle: handle, source: known?.source ?? .seen, value: value)
        let isValue: Bool
        if let known {
            // Descriptors have types of 29xx. Any other type that is not from discovery is that of a value.
            let isDescriptor = known.uuid.short.map { (0x2900...0x29FF).contains($0) } ?? false
            isValue = types[handle - 1]?.uuid == GATTTable.characteristic || known.source == .seen && !isDescriptor
        } else if let use, use.isSubscription, use.properties.contains(.write), owner?.lacksCCCD == true {
            descriptor.uuid = GATTTable.cccd
            isValue = false
        } else {
            isValue = owner?.source != .discovered
        }
        // A declaration is directly before its value.
        if isValue, handle > 1, !builder.usedHandles.contains(handle - 1) {
            builder.add(
                PeripheralProfile.Characteristic(
                    uuid: known?.uuid, declaration: handle - 1, handle: handle, properties: use?.properties ?? [],
                    source: .seen, value: value))
        } else {
            builder.add(descriptor)
        }
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
        guard let last = service(at: include.handle), services[last].characteristics.isEmpty else {
            return unplaced.append(include.handle)
        }
        usedHandles.insert(include.handle)
        services[last].includes.append(include)
    }

    mutating func add(_ characteristic: PeripheralProfile.Characteristic) {
        addMissingService(for: characteristic.declaration)
        // Characteristics do not overlap.
        guard let last = service(at: characteristic.declaration), characteristic.handle <= services[last].end,
            services[last].characteristics.last.map({ $0.handle < characteristic.declaration }) ?? true
        else { return unplaced.append(characteristic.handle) }
        usedHandles.formUnion([characteristic.declaration, characteristic.handle])
        services[last].characteristics.append(characteristic)
    }

    /// Adds a descriptor to the preceding characteristic.
    mutating func add(_ descriptor: PeripheralProfile.Descriptor) {
        guard let owner = owner(of: descriptor.handle), let last = services.indices.last else {
            return unplaced.append(descriptor.handle)
        }
        usedHandles.insert(descriptor.handle)
        let index = services[last].characteristics.count - 1
        services[last].characteristics[index].descriptors.append(descriptor)
        // A server has this descriptor only if the characteristic can notify or indicate.
        if descriptor.uuid == GATTTable.cccd, owner.source == .seen,
            !services[last].characteristics[index].canBeSubscribed
        {
            services[last].characteristics[index].properties.insert(.notify)
        }
    }

    /// The properties of the characteristic to which a descriptor with this handle would belong.
    func owner(of handle: UInt16) -> (source: PeripheralProfile.Source, lacksCCCD: Bool)? {
        guard let last = service(at: handle), let found = services[last].characteristics.last, found.handle < handle
        else { return nil }
        return (found.source, found.canBeSubscribed && found.cccdHandle == nil)
    }

    /// The index of the last service if it contains the handle.
    private func service(at handle: UInt16) -> Int? {
        guard let last = services.last, last.handle < handle, handle <= last.end else { return nil }
        return services.count - 1
    }

    /// Adds a service directly before a characteristic that is after the last service. It ends before the next one.
    private mutating func addMissingService(for declaration: UInt16) {
        guard declaration > 1, services.last.map({ $0.end < declaration - 1 }) ?? true else { return }
        append(
            PeripheralProfile.Service(
                uuid: nil, handle: declaration - 1, end: discovered.first.map { $0.handle - 1 } ?? .max, source: .seen))
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
