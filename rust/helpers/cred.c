// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/cred.h>, <linux/uidgid.h> and <linux/fs_struct.h>. */
#include "helpers.h"
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/fs_struct.h>
#include <linux/mnt_idmapping.h>
#include <linux/uidgid.h>

bool rvfat_helper_capable(int cap)
{
	return capable(cap);
}

uid_t rvfat_helper_from_kuid(kuid_t uid)
{
	return from_kuid(&init_user_ns, uid);
}

gid_t rvfat_helper_from_kgid(kgid_t gid)
{
	return from_kgid(&init_user_ns, gid);
}

kuid_t rvfat_helper_current_uid(void)
{
	return current_uid();
}

kgid_t rvfat_helper_current_gid(void)
{
	return current_gid();
}

umode_t rvfat_helper_current_umask(void)
{
	return current_umask();
}

bool rvfat_helper_inode_owned_by_current(struct mnt_idmap *idmap, struct inode *inode)
{
	return vfsuid_eq_kuid(i_uid_into_vfsuid(idmap, inode), current_fsuid());
}

bool rvfat_helper_inode_group_of_current(struct mnt_idmap *idmap, struct inode *inode)
{
	return vfsgid_in_group_p(i_gid_into_vfsgid(idmap, inode));
}

bool rvfat_helper_iattr_changes_owner(struct mnt_idmap *idmap, struct inode *inode,
				      const struct iattr *attr, uid_t uid, gid_t gid)
{
	return ((attr->ia_valid & ATTR_UID) &&
		!uid_eq(from_vfsuid(idmap, i_user_ns(inode), attr->ia_vfsuid), KUIDT_INIT(uid))) ||
	       ((attr->ia_valid & ATTR_GID) &&
		!gid_eq(from_vfsgid(idmap, i_user_ns(inode), attr->ia_vfsgid), KGIDT_INIT(gid)));
}
