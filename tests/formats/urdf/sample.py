"""A small tree with everything a URDF may have, as text to read and to spoil."""

SAMPLE = """<?xml version="1.0"?>
<robot name="sample">
  <material name="orange"><color rgba="1 0.5 0.1 1"/></material>
  <link name="base_link">
    <visual><geometry><box size="0.2 0.2 0.1"/></geometry><material name="orange"/></visual>
  </link>
  <joint name="pan" type="revolute">
    <origin xyz="0 0 0.1" rpy="0 0 0.3"/>
    <parent link="base_link"/><child link="upper"/>
    <axis xyz="0 0 1"/>
    <limit lower="-2.5" upper="2.5" effort="40" velocity="3"/>
    <dynamics damping="0.2" friction="0.1"/>
  </joint>
  <link name="upper">
    <inertial>
      <origin xyz="0.1 0 0.05" rpy="0.1 0.2 0.3"/>
      <mass value="2.0"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.025"/>
    </inertial>
    <visual name="tube">
      <origin xyz="0.1 0 0" rpy="0 1.5707963267948966 0"/>
      <geometry><cylinder radius="0.03" length="0.2"/></geometry>
      <material name="grey"><color rgba="0.4 0.4 0.4 1"/></material>
    </visual>
    <collision><geometry><sphere radius="0.1"/></geometry></collision>
  </link>
  <joint name="weld" type="fixed">
    <origin xyz="0.2 0 0" rpy="0 0 1.5707963267948966"/>
    <parent link="upper"/><child link="bracket"/>
  </joint>
  <link name="bracket">
    <inertial><mass value="0.5"/>
      <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial>
    <collision><geometry><capsule radius="0.02" length="0.05"/></geometry></collision>
  </link>
  <joint name="lift" type="prismatic">
    <origin xyz="0 0 0.05"/>
    <parent link="bracket"/><child link="slide"/>
    <axis xyz="0 1 1"/>
    <limit lower="0" upper="0.3" effort="100" velocity="0.5"/>
  </joint>
  <link name="slide">
    <inertial><mass value="1"/>
      <inertia ixx="0.002" ixy="0" ixz="0" iyy="0.002" iyz="0" izz="0.002"/></inertial>
  </link>
  <joint name="spin" type="continuous">
    <parent link="slide"/><child link="hand"/>
    <axis xyz="1 0 0"/>
  </joint>
  <link name="hand">
    <inertial><mass value="0.3"/>
      <inertia ixx="0.0005" ixy="0" ixz="0" iyy="0.0005" iyz="0" izz="0.0005"/></inertial>
  </link>
  <joint name="left" type="prismatic">
    <origin xyz="0.1 0.01 0"/>
    <parent link="hand"/><child link="left_finger"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.04" effort="20" velocity="0.2"/>
  </joint>
  <link name="left_finger"><inertial><mass value="0.05"/>
    <inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
  <joint name="right" type="prismatic">
    <origin xyz="0.1 -0.01 0"/>
    <parent link="hand"/><child link="right_finger"/>
    <axis xyz="0 1 0"/><limit lower="-0.04" upper="0.01" effort="20" velocity="0.2"/>
    <mimic joint="left" multiplier="-1" offset="0.005"/>
  </joint>
  <link name="right_finger"><inertial><mass value="0.05"/>
    <inertia ixx="1e-5" ixy="0" ixz="0" iyy="1e-5" iyz="0" izz="1e-5"/></inertial></link>
  <joint name="tool_joint" type="fixed">
    <origin xyz="0.12 0 0"/><parent link="hand"/><child link="tcp"/>
  </joint>
  <link name="tcp"/>
</robot>
"""
